//! `causeway serve`: runs the gateway in front of an existing deployment until a stop signal.
//!
//! SIGHUP reads settings, mappings and secrets again. May use: what `cli` may use.

use super::arguments::{Outcome, SettingArgs, block_on, stop_signal};
use super::systemd::{handed_listener, ready, reloading, stopping, watched};
use crate::app::{App, Reloader};
use crate::aside::{READING, aside};
use crate::doctor;
use crate::settings::Settings;
use crate::task::spawn;
use crate::telemetry::{self, Log, field};
use futures_util::FutureExt;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

pub(super) fn run(args: &SettingArgs) -> Outcome {
    let loaded = args.load_from()?;
    let settings = loaded.settings.clone();
    settings.upstream.needed_base_url().map_err(|fault| fault.to_string())?;
    settings.upstream.expect_another(settings.listen.address).map_err(|fault| fault.to_string())?;
    let log = Arc::new(telemetry::start(&settings.log).map_err(|fault| fault.to_string())?);
    for warning in settings.warnings() {
        tracing::warn!("{warning}");
    }
    let indices = settings.index.directory.as_deref();
    if let Some(trouble) = indices.and_then(doctor::index_trouble) {
        tracing::warn!("indices cannot be kept in index.directory, and each start builds them again: {trouble}");
    }
    if let Some(trouble) = doctor::certificates_trouble() {
        tracing::warn!("{trouble}");
    }
    let args = args.clone();
    block_on(async move {
        // Do this first: a signal that is not handled ends the process, and the first process of a container never gets
        // it.
        let hangups = signal(SignalKind::hangup());
        let mut hangups = hangups.map_err(|fault| format!("SIGHUP cannot be waited for: {fault}"))?;
        let mut stop = Box::pin(stop_signal());
        let app = tokio::select! {
            // In this order signals are caught before the start begins.
            biased;
            () = &mut stop => {
                tracing::info!("stopped before it served");
                return Ok(());
            }
            app = App::build_from(loaded) => app.map_err(|fault| fault.to_string())?,
        };
        let listener = listener(&settings).await?;
        // With port 0 the system chooses one.
        let address = listener.local_addr().unwrap_or(settings.listen.address);
        summarize(&app, &settings);
        tracing::info!(%address, upstream = %app.upstream(), "serving v2");
        let status = format!("serving {} on {address}", app.upstream());
        ready(&status);
        let (reloader, asking) = (app.reloader(), app.ask_v1());
        let reloading = async move {
            while hangups.recv().await.is_some() {
                let (args, reloader, log) = (args.clone(), reloader.clone(), Arc::clone(&log));
                carried_out(async move { reload(&args, &reloader, &log).await }).await;
                ready(&status);
            }
        };
        // Tasks of their own: a panic in one of them does not end the others. They end when the set is dropped.
        let mut beside = JoinSet::new();
        beside.spawn(watched().boxed());
        beside.spawn(reloading.boxed());
        beside.spawn(tell_of_v1(asking).boxed());
        let stopped = async move {
            stop.await;
            stopping();
        };
        app.serve(listener, stopped).await.map_err(|fault| format!("serving ended: {fault}"))
    })
}

/// Returns the listening socket that was handed over, or opens one.
async fn listener(settings: &Settings) -> Result<TcpListener, String> {
    if let Some(handed) = handed_listener()? {
        tracing::info!("listening on the socket that was handed over; listen.address is not used");
        return TcpListener::from_std(handed).map_err(|fault| fault.to_string());
    }
    let address = settings.listen.address;
    TcpListener::bind(address).await.map_err(|fault| {
        format!("cannot listen on {address}: {fault}; choose another with --listen or the setting listen.address")
    })
}

/// Logs the facts that an operator wants to see first.
fn summarize(app: &App, settings: &Settings) {
    let store = settings.store.url.split(':').next().unwrap_or_default();
    let oauth = if app.oauth().is_set_up() { "on" } else { "off, because there is no secret" };
    let operators = app.admin_address().map_or_else(|| "off".to_owned(), |address| address.to_string());
    tracing::info!(version = env!("CARGO_PKG_VERSION"), store, oauth, operators, "started");
}

/// Logs whether v1 answers, as soon as that is known. Nothing waits for this.
async fn tell_of_v1(asking: impl Future<Output = Result<u16, String>>) {
    match asking.await {
        Ok(status) if status < 500 => tracing::info!({ field::STATUS } = status, "v1 answers"),
        Ok(status) => {
            tracing::warn!({ field::STATUS } = status, "v1 fails; requests are served as far as they can be")
        }
        Err(cause) => {
            tracing::warn!(
                { field::CAUSE } = cause,
                "v1 cannot be reached; requests are served as far as they can be"
            );
        }
    }
}

/// Runs one reload in a task of its own. A panic in it is logged, and a later reload is possible.
async fn carried_out(reload: impl Future<Output = ()> + Send + 'static) {
    if let Err(panic) = AbortOnDropHandle::new(spawn(reload)).await {
        tracing::error!({ field::CAUSE } = %panic, "not reloaded");
    }
}

/// Reads settings, mappings and secrets again. On an error nothing changes.
async fn reload(args: &SettingArgs, reloader: &Reloader, log: &Log) {
    reloading();
    let args = args.clone();
    let hangs = || Err(format!("the settings could not be read within {READING:?}"));
    let loaded = match aside("settings", READING, move || args.load_again()).await.unwrap_or_else(hangs) {
        Ok(loaded) => loaded,
        Err(faults) => {
            tracing::error!({ field::CAUSE } = faults, "not reloaded: nothing was changed");
            return;
        }
    };
    let settings = loaded.settings.clone();
    match reloader.reload(loaded).await {
        Ok(changed) => {
            log.filter(&settings.log.filter);
            for warning in settings.warnings() {
                tracing::warn!("{warning}");
            }
            tracing::info!(changed = changed.join(", "), "reloaded");
        }
        Err(fault) => tracing::error!({ field::CAUSE } = %fault, "not reloaded"),
    }
}

#[cfg(test)]
mod tests {
    use super::carried_out;

    #[tokio::test]
    async fn a_panic_in_a_reload_leaves_the_others_alone() {
        carried_out(async { panic!("on purpose") }).await;
        let (tell, told) = tokio::sync::oneshot::channel();
        carried_out(async move { tell.send(7).expect("somebody listens") }).await;
        assert_eq!(told.await, Ok(7));
    }
}

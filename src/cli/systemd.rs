//! Systemd hands the listening socket over and is told how the process is; without it none of this does anything.
//! May use: what `cli` may use.

use crate::telemetry::field;
use listenfd::ListenFd;
use sd_notify::NotifyState;
use std::time::Duration;

/// The listening socket that systemd holds for the gateway (`LISTEN_FDS`), so that it stays open over restarts.
pub(super) fn handed_listener() -> Result<Option<std::net::TcpListener>, String> {
    let mut handed = ListenFd::from_env();
    if handed.len() == 0 {
        return Ok(None);
    }
    if handed.len() > 1 {
        return Err(format!("{} sockets were handed over (LISTEN_FDS); hand over one", handed.len()));
    }
    let listener = handed.take_tcp_listener(0);
    let listener = listener.map_err(|fault| format!("the socket that was handed over cannot be used: {fault}"))?;
    if let Some(listener) = &listener {
        listener.set_nonblocking(true).map_err(|fault| fault.to_string())?;
    }
    Ok(listener)
}

/// Requests are answered.
pub(super) fn ready(status: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// Settings are being read again; [`ready`] tells the end of it.
pub(super) fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(_) => tell(&[NotifyState::Reloading]),
    }
}

/// Nothing new is taken in.
pub(super) fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// Tells again and again that the process lives, when systemd wants to know (`WatchdogSec=`).
pub(super) async fn watched() {
    let mut micros = 0;
    if !sd_notify::watchdog_enabled(false, &mut micros) {
        return std::future::pending().await;
    }
    loop {
        tell(&[NotifyState::Watchdog]);
        tokio::time::sleep(Duration::from_micros(micros / 2)).await;
    }
}

fn tell(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(false, state) {
        tracing::debug!({ field::CAUSE } = %error, "systemd could not be told");
    }
}

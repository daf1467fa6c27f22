//! Systemd support: takes over a listening socket and reports the state of the process. Without systemd it does
//! nothing.
//! May use: what `cli` may use.

use crate::telemetry::field;
use listenfd::ListenFd;
use sd_notify::NotifyState;
use std::time::Duration;

/// Returns the listening socket that systemd holds for the gateway (`LISTEN_FDS`); it stays open over restarts.
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

/// Reports that requests are answered.
pub(super) fn ready(status: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// Reports that settings are being read again. Call [`ready`] when that is done.
pub(super) fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(_) => tell(&[NotifyState::Reloading]),
    }
}

/// Reports that no new requests are accepted.
pub(super) fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// Reports repeatedly that the process is alive, if systemd asks for it (`WatchdogSec=`).
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

//! Who is told of events, and the log of the process, which always is. May use: `access`, this folder.

use super::events::{Event, What};
use crate::access::Origin;
use futures_util::future::BoxFuture;

/// Is told of events, on the way of a request, which waits for it; a fault in it is its own matter.
pub trait Events: Send + Sync + 'static {
    /// Something happened, by a request `from` somewhere; by none when an operator did it at the command line.
    fn happened<'e>(&'e self, event: &'e Event, from: Option<&'e Origin>) -> BoxFuture<'e, ()>;
}

/// Writes events to the log.
#[derive(Debug, Clone, Copy, Default)]
pub struct Logged;

impl Events for Logged {
    fn happened<'e>(&'e self, event: &'e Event, _: Option<&'e Origin>) -> BoxFuture<'e, ()> {
        match event.what {
            What::CodeMisused | What::RefreshReused => tracing::warn!(?event, "access"),
            What::CredentialRefused(_) => tracing::debug!(?event, "access"),
            _ => tracing::info!(?event, "access"),
        }
        Box::pin(std::future::ready(()))
    }
}

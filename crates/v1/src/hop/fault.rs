//! Why there is no answer, and how that is said. May use: nothing of this crate.

use hyper_util::client::legacy;
use std::error::Error;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct HopError(pub(super) legacy::Error);

impl HopError {
    /// Whether no connection was made, so that nothing can have been carried out.
    pub fn is_connect(&self) -> bool {
        self.0.is_connect()
    }

    /// Whether the body of the request could not be read, rather than the exchange having failed.
    pub fn is_of_the_body(&self) -> bool {
        self.0.source().and_then(|cause| cause.downcast_ref::<hyper::Error>()).is_some_and(hyper::Error::is_user)
    }
}

/// An error and what caused it, in one line. Headers, and with them keys, are in none of these.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

//! Reasons for a missing answer, and their text. May use: nothing of this crate.

use hyper_util::client::legacy;
use std::error::Error;

/// Reason why there is no answer.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct HopError(pub(super) legacy::Error);

impl HopError {
    /// Checks whether no connection was made, so that the request cannot have been carried out.
    pub fn is_connect(&self) -> bool {
        self.0.is_connect()
    }

    /// Checks whether the body of the request could not be read, as opposed to a failed exchange.
    pub fn is_of_the_body(&self) -> bool {
        self.0.source().and_then(|cause| cause.downcast_ref::<hyper::Error>()).is_some_and(hyper::Error::is_user)
    }
}

/// Joins an error and its causes in one line. None of them contains headers, and so none contains keys.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

//! What members of a body that name another record turn out to be.
//!
//! May use: `refusal`.

use crate::refusal::FieldError;
use serde_json::Value;

/// What became of looking a member up.
pub(in crate::run) enum LookedUp {
    /// It was not sent.
    NotSent,
    /// What v1 takes for it.
    Found(Value),
    /// It names nothing that could be taken.
    Wrong(FieldError),
}

impl LookedUp {
    /// `message` is what is wrong with `member`.
    pub(in crate::run) fn wrong(member: &str, message: impl Into<String>) -> Self {
        Self::Wrong(FieldError::new(member, message))
    }
}

//! One question to the database for all who ask it at the same time, by the rules of `fresh`.
//!
//! Readers compare a number in the database with that of their copy, so this question is asked with every request.
//! A caller that comes while it is on its way does not get its answer, for something may have been written since it was
//! sent; but all callers that came meanwhile share the next one.
//!
//! May use: `fresh`.

use crate::fresh::{Changes, Fresh, Lost, Value};
use uuid::Uuid;

pub(super) type Answers<T> = Fresh<Uuid, T, Unanswered>;

/// Keys remembered; one that was forgotten is only asked for once more.
const KEYS: u64 = 100_000;

/// A question failed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unanswered;

impl From<Lost> for Unanswered {
    fn from(_: Lost) -> Self {
        Self
    }
}

/// No answers yet.
pub(super) fn none<T: Value>(changes: &Changes) -> Answers<T> {
    Fresh::new(changes, KEYS)
}

//! One database query shared by all callers that ask for the same at the same time, by the rules of `fresh`.
//!
//! Readers compare a number in the database with the number of their copy, so this query runs with every request. A
//! caller that arrives while the query is in flight does not get its answer, because a write may have happened since it
//! was sent. All callers that arrived meanwhile share the next query.
//!
//! May use: `fresh`.

use crate::fresh::{Changes, Fresh, ReadLost, Value};
use uuid::Uuid;

pub(super) type Answers<T> = Fresh<Uuid, T, QueryFailed>;

/// Number of keys remembered. A forgotten key only costs one more query.
const KEYS: u64 = 100_000;

/// Error: a query failed.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueryFailed;

impl From<ReadLost> for QueryFailed {
    fn from(_: ReadLost) -> Self {
        Self
    }
}

/// Creates an empty set of answers.
pub(super) fn none<T: Value>(changes: &Changes) -> Answers<T> {
    Fresh::new(changes, KEYS)
}

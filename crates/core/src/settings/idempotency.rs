//! How long and how much is kept of requests that clients may repeat. May use: this folder.

use super::bounded::{positive, some_bytes, whole};
use super::reader::Reader;
use std::time::Duration;

/// What is kept for requests with an `Idempotency-Key` (`[idempotency]`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencySettings {
    /// Time from a request until its answer is forgotten and its key may be used anew.
    pub keep: Duration,
    /// Most requests kept of one person.
    pub per_person: usize,
    /// Most bytes of answers kept of one person.
    pub per_person_size: usize,
}

impl IdempotencySettings {
    pub(super) fn read(from: &mut Reader) -> Self {
        Self {
            keep: positive(from, "idempotency.keep"),
            per_person: whole(from, "idempotency.per_person", 1..=1_000_000),
            per_person_size: some_bytes(from, "idempotency.per_person_size"),
        }
    }
}

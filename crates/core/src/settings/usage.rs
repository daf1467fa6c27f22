//! Counting of who calls which operation. May use: this folder.

use super::bounded::{positive, whole};
use super::reader::Reader;
use std::time::Duration;

/// Counts for reports on the move from v1 to v2 (`[usage]`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsageSettings {
    /// Whether calls are counted at all.
    pub count: bool,
    /// For how many days counts are kept.
    pub days: i64,
    /// Most rows of counts.
    pub rows: i64,
    /// Time from one write of counts to the next.
    pub flush: Duration,
    /// Whether v1 may be asked who a key belongs to.
    pub learn: bool,
}

impl UsageSettings {
    pub(super) fn read(from: &mut Reader) -> Self {
        Self {
            count: from.get("usage.count"),
            days: whole(from, "usage.days", 1..=3660) as i64,
            rows: whole(from, "usage.rows", 1000..=10_000_000) as i64,
            flush: positive(from, "usage.flush"),
            learn: from.get("usage.learn"),
        }
    }
}

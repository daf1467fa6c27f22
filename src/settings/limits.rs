//! How much one request may take, and how many there may be at once.

use super::listen::positive;
use super::rate::RateSettings;
use super::reader::Reader;
use super::value::Size;
use std::time::Duration;

/// The limits (`[limits]`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitSettings {
    /// Time until a v2 request must be answered.
    pub deadline: Duration,
    /// Requests served at once.
    pub concurrency: usize,
    /// Largest v2 request body in bytes.
    pub body: usize,
    /// Longest pause between two pieces of a v2 request body.
    pub body_pause: Duration,
    /// Most writes that wait for the same record or rule.
    pub writers_waiting: usize,
    /// Requests a minute.
    pub rate: RateSettings,
}

impl LimitSettings {
    pub(super) fn read(from: &mut Reader) -> Self {
        let at_once = |count: &usize| (1..=1_000_000).contains(count);
        Self {
            deadline: positive(from, "limits.deadline"),
            concurrency: from.get_where("limits.concurrency", "a whole number from 1 to 1000000", at_once),
            body: from.get_where("limits.body", "a size above zero", |size: &Size| size.0 > 0).0,
            body_pause: positive(from, "limits.body_pause"),
            writers_waiting: from.get_where("limits.writers_waiting", "a whole number from 1 to 1000000", at_once),
            rate: RateSettings::read(from),
        }
    }
}

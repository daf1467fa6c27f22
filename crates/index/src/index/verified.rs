//! Rows that v1 has vouched for, and up to which change.
//!
//! May use: `v2`, this folder.

use super::rows::Rows;
use super::walk::MARGIN;
use crate::v2::time::Micros;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How far before the watermark an item may turn up that changed late (trap 56).
const LATE: Duration = Duration::from_micros(MARGIN as u64);

/// Rows that v1 has vouched for.
#[derive(Debug, Clone)]
pub(super) struct Verified {
    pub rows: Rows,
    /// The newest change seen, by v1's clock.
    pub watermark: Micros,
    /// When it was seen first, by ours.
    seen: Option<Instant>,
    /// All that changed up to here, by v1's clock, is in the rows.
    pub floor: Micros,
}

impl Default for Verified {
    fn default() -> Self {
        Self::new(Rows::default(), Micros::MIN)
    }
}

impl Verified {
    /// Rows read when nothing on v1 was newer than the watermark.
    pub fn new(rows: Rows, watermark: Micros) -> Self {
        Self { rows, watermark, seen: None, floor: watermark.saturating_sub(MARGIN) }
    }

    /// Rows of a build: nothing that changes after them has an `updated_at` before `floor`.
    pub fn built(rows: Rows, watermark: Micros, floor: Micros) -> Self {
        Self { rows, watermark, seen: None, floor }
    }

    /// A delta that began at `begun` has seen `newest`. When it is the same for longer than a change may be
    /// late, nothing up to it can turn up any more, and the next delta ends there.
    pub(super) fn saw(&mut self, newest: Micros, begun: Instant) {
        if newest > self.watermark || self.seen.is_none() {
            self.watermark = self.watermark.max(newest);
            self.seen = Some(begun);
            self.floor = self.floor.max(self.watermark.saturating_sub(MARGIN));
        } else if self.seen.is_some_and(|seen| begun.duration_since(seen) > LATE) {
            self.floor = self.watermark;
        }
    }

    /// A change that was seen first in a delta that began at `begun` or later was seen by `now`: for a delta that
    /// another process has read, of which no more is known.
    pub fn seen_by(&mut self, begun: Instant, now: Instant) {
        self.seen = self.seen.map(|seen| if seen >= begun { now } else { seen });
    }

    /// Whether rows or watermark are other than those of `before`; rows nothing has touched are the same.
    pub fn differs(&self, before: &Self) -> bool {
        let (ours, theirs) = (self.rows.chunks(), before.rows.chunks());
        let same = |(ours, theirs)| Arc::ptr_eq(ours, theirs);
        self.watermark != before.watermark || ours.len() != theirs.len() || !ours.iter().zip(theirs).all(same)
    }
}

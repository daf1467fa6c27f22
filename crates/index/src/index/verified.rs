//! Rows that v1 has confirmed, and the change up to which it has confirmed them.
//!
//! May use: `v2`, this folder.

use super::rows::Rows;
use super::walk::MARGIN;
use crate::v2::time::Micros;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest time before the watermark at which a late change can appear (trap 56).
const LATE: Duration = Duration::from_micros(MARGIN as u64);

/// Rows that v1 has confirmed.
#[derive(Debug, Clone)]
pub(super) struct Verified {
    pub rows: Rows,
    /// The newest change seen, by v1's clock.
    pub watermark: Micros,
    /// When the watermark was first seen, by our clock.
    seen: Option<Instant>,
    /// All changes up to this instant, by v1's clock, are in the rows.
    pub floor: Micros,
}

impl Default for Verified {
    fn default() -> Self {
        Self::new(Rows::default(), Micros::MIN)
    }
}

impl Verified {
    /// Takes rows that were read when nothing on v1 was newer than the watermark.
    pub fn new(rows: Rows, watermark: Micros) -> Self {
        Self { rows, watermark, seen: None, floor: watermark.saturating_sub(MARGIN) }
    }

    /// Takes the rows of a build: no change after the build has an `updated_at` before `floor`.
    pub fn built(rows: Rows, watermark: Micros, floor: Micros) -> Self {
        Self { rows, watermark, seen: None, floor }
    }

    /// Notes that a delta that began at `begun` has seen `newest` as the newest change. When this stays the same for
    /// longer than a change may be late, no change up to it can appear any more. The next delta then ends there.
    pub(super) fn saw(&mut self, newest: Micros, begun: Instant) {
        if newest > self.watermark || self.seen.is_none() {
            self.watermark = self.watermark.max(newest);
            self.seen = Some(begun);
            self.floor = self.floor.max(self.watermark.saturating_sub(MARGIN));
        } else if self.seen.is_some_and(|seen| begun.duration_since(seen) > LATE) {
            self.floor = self.watermark;
        }
    }

    /// For a delta that another process has read: a newest change that was first seen at `begun` or later counts as
    /// first seen at `now`, because no exact time is known.
    pub fn seen_by(&mut self, begun: Instant, now: Instant) {
        self.seen = self.seen.map(|seen| if seen >= begun { now } else { seen });
    }

    /// Checks whether rows or watermark differ from those of `before`. Chunks that were not touched are equal.
    pub fn differs(&self, before: &Self) -> bool {
        let (ours, theirs) = (self.rows.chunks(), before.rows.chunks());
        let same = |(ours, theirs)| Arc::ptr_eq(ours, theirs);
        self.watermark != before.watermark || ours.len() != theirs.len() || !ours.iter().zip(theirs).all(same)
    }
}

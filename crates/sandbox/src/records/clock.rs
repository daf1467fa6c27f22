//! The sandbox's own clock: the wall clock plus a shift that tests may set. It always increases, so that two records
//! never have the same instant. May use: nothing of this crate.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::Timestamp;

/// A clock that never shows the same microsecond twice.
#[derive(Debug)]
pub(crate) struct Clock {
    /// Microseconds added to the wall clock.
    shift: AtomicI64,
    /// The last microsecond that was returned.
    last: AtomicI64,
}

impl Clock {
    /// A clock that shows `start` now, or the wall clock.
    pub(crate) fn new(start: Option<Timestamp>) -> Self {
        let shift = start.map_or(0, |s| s.as_microsecond() - Timestamp::now().as_microsecond());
        Self { shift: AtomicI64::new(shift), last: AtomicI64::new(i64::MIN) }
    }

    /// The current instant, later than every instant returned before.
    pub(crate) fn now(&self) -> Timestamp {
        let wall = Timestamp::now().as_microsecond() + self.shift.load(Ordering::Relaxed);
        let previous = self
            .last
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(wall.max(last.saturating_add(1))))
            .unwrap_or(i64::MIN);
        let micros = wall.max(previous.saturating_add(1));
        Timestamp::from_microsecond(micros).unwrap_or(Timestamp::MAX)
    }

    /// Moves the clock forward.
    pub(crate) fn advance(&self, by: Duration) {
        let micros = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
        self.shift.fetch_add(micros, Ordering::Relaxed);
    }
}

//! The clock by which the age of cards is judged.
//!
//! Real time, which tests may push ahead, so that no test has to wait for a card to expire. May use:
//! nothing of this crate.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Real time plus what a test has added; clones share the addition.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    ahead_micros: Arc<AtomicU64>,
}

impl Clock {
    /// The present instant of this clock.
    pub fn now(&self) -> Instant {
        Instant::now() + Duration::from_micros(self.ahead_micros.load(Ordering::Relaxed))
    }

    /// Pushes this clock and its clones ahead.
    pub fn advance(&self, by: Duration) {
        self.ahead_micros.fetch_add(by.as_micros() as u64, Ordering::Relaxed);
    }
}

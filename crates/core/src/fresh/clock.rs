//! The clock that measures the age of cached values.
//!
//! Real time in the program. Tests stop it and advance it by hand, so that no test waits for an expiry
//! and no test fails on a slow machine. May use: nothing of this crate.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Real time, or time that only moves by hand; clones are the same clock.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    stopped: Option<Stopped>,
}

#[derive(Debug, Clone)]
struct Stopped {
    at: Instant,
    micros: Arc<AtomicU64>,
}

impl Clock {
    /// Creates a clock that stands still except for a microsecond per reading, so that a later event has a later time.
    pub fn stopped() -> Self {
        Self { stopped: Some(Stopped { at: Instant::now(), micros: Arc::default() }) }
    }

    /// Returns the current instant of this clock.
    pub fn now(&self) -> Instant {
        match &self.stopped {
            None => Instant::now(),
            Some(clock) => clock.at + Duration::from_micros(clock.micros.fetch_add(1, Ordering::SeqCst) + 1),
        }
    }

    /// Advances a stopped clock and its clones. Real time cannot be advanced.
    pub fn advance(&self, by: Duration) {
        if let Some(clock) = &self.stopped {
            clock.micros.fetch_add(by.as_micros() as u64, Ordering::SeqCst);
        }
    }
}

//! The clock by which the age of what is kept is judged.
//!
//! Real time in the program. Tests stop it and push it on by hand, so that none has to wait for something to
//! expire and none fails on a slow machine. May use: nothing of this crate.

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
    /// A clock that stands still but for a microsecond with every reading, so that a later event has a later time.
    pub fn stopped() -> Self {
        Self { stopped: Some(Stopped { at: Instant::now(), micros: Arc::default() }) }
    }

    /// The present instant of this clock.
    pub fn now(&self) -> Instant {
        match &self.stopped {
            None => Instant::now(),
            Some(clock) => clock.at + Duration::from_micros(clock.micros.fetch_add(1, Ordering::SeqCst) + 1),
        }
    }

    /// Pushes a stopped clock and its clones on; real time cannot be pushed.
    pub fn advance(&self, by: Duration) {
        if let Some(clock) = &self.stopped {
            clock.micros.fetch_add(by.as_micros() as u64, Ordering::SeqCst);
        }
    }
}

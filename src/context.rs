//! What accompanies one request on its way: its id, its deadline and what it cost at v1.
//!
//! May use: nothing of this crate. May be used by every folder but `sandbox`.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Counts the v1 calls made for one request and the time they took.
#[derive(Debug, Default)]
pub struct Meter {
    calls: AtomicU32,
    micros: AtomicU64,
    notes: Mutex<Vec<Note>>,
}

/// Something about how an answer came about that its reader should know, for `Server-Timing`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// Answered from the local index.
    Index,
    /// Answered by reading the whole project, because it is too large for the index.
    Scan,
}

impl Note {
    /// The entry in `Server-Timing`.
    pub fn entry(self) -> &'static str {
        match self {
            Self::Index => "index",
            Self::Scan => "scan;desc=\"the project is too large for the index\"",
        }
    }
}

impl Meter {
    /// Adds one finished v1 call.
    pub fn record(&self, took: Duration) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(took.as_micros() as u64, Ordering::Relaxed);
    }

    /// Notes something, once.
    pub fn note(&self, note: Note) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// What was noted.
    pub fn notes(&self) -> Vec<Note> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// v1 calls so far.
    pub fn calls(&self) -> u32 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Time spent waiting for v1 so far (calls side by side add up).
    pub fn v1_time(&self) -> Duration {
        Duration::from_micros(self.micros.load(Ordering::Relaxed))
    }
}

/// One request's companion; cheap to clone, so that work done by its own task keeps the accounting.
#[derive(Debug, Clone)]
pub struct Context {
    /// Id of the request, accepted from the client or made; also sent to v1 as `X-Request-Id`.
    pub request_id: Arc<str>,
    /// When the request must have been answered.
    pub deadline: Instant,
    /// What it cost at v1.
    pub meter: Arc<Meter>,
}

impl Context {
    /// A context that expires after `allowed`.
    pub fn new(request_id: impl Into<Arc<str>>, allowed: Duration) -> Self {
        Self { request_id: request_id.into(), deadline: Instant::now() + allowed, meter: Arc::default() }
    }

    /// The same accounting with a deadline of its own, for work that is shared with other requests and
    /// must not end with this one.
    pub fn for_shared_work(&self, allowed: Duration) -> Self {
        Self { deadline: Instant::now() + allowed, ..self.clone() }
    }

    /// Time left until the deadline; zero when it has passed.
    pub fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

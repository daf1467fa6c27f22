//! The steps of a request that is recorded.
//!
//! May use: nothing of this crate.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

/// Maximum number of recorded steps of one request.
pub(super) const MOST_STEPS: usize = 200;

/// The recording of a request's steps; all clones are the same.
#[derive(Debug, Clone)]
pub struct Steps(Arc<Recording>);

#[derive(Debug)]
struct Recording {
    at: SystemTime,
    begun: Instant,
    steps: Mutex<Vec<Step>>,
}

/// A step of a request that is recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its id.
    pub span: u64,
    /// Its name.
    pub name: &'static str,
    /// Beginning and end, in wall-clock time.
    pub time: (SystemTime, SystemTime),
    /// Its details.
    pub detail: Detail,
}

/// The details of a step beside its name.
#[derive(Debug, Clone, PartialEq)]
pub enum Detail {
    /// No details: work of the gateway's own.
    Nothing,
    /// A call to v1.
    Call {
        /// Its method.
        method: String,
        /// Its path without the query.
        path: String,
        /// Status of the answer, 0 when there was none.
        status: u16,
    },
    /// A statement that the store sent to its database.
    Statement {
        /// The database, as OpenTelemetry names it.
        engine: &'static str,
        /// Kind of the statement; never its text or its values.
        operation: &'static str,
        /// Whether it failed.
        failed: bool,
    },
}

impl Steps {
    /// Begins an empty recording now.
    pub(super) fn begin() -> Self {
        Self(Arc::new(Recording { at: SystemTime::now(), begun: Instant::now(), steps: Mutex::default() }))
    }

    /// Adds a step that began at `begun` and ends now.
    pub fn add(&self, span: u64, name: &'static str, begun: Instant, detail: Detail) {
        let Recording { at, begun: since, steps } = &*self.0;
        let mut steps = steps.lock();
        if steps.len() < MOST_STEPS {
            let at = |instant: Instant| *at + instant.saturating_duration_since(*since);
            steps.push(Step { span, name, time: (at(begun), at(Instant::now())), detail });
        }
    }

    /// Returns the beginning of the recording, and the steps so far.
    pub(super) fn so_far(&self) -> (SystemTime, Vec<Step>) {
        (self.0.at, self.0.steps.lock().clone())
    }
}

//! The steps of a request that are recorded.
//!
//! May use: nothing of this crate.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

/// Most steps of one request that are recorded.
pub(super) const MOST_STEPS: usize = 200;

/// Where the steps of a recorded request go; all clones are the same.
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
    /// What it is.
    pub name: &'static str,
    /// When it began and ended, by the clock of the wall.
    pub time: (SystemTime, SystemTime),
    /// What more there is to say.
    pub detail: Detail,
}

/// What a step tells beside its name.
#[derive(Debug, Clone, PartialEq)]
pub enum Detail {
    /// Nothing: work of the gateway's own.
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
        /// What kind of statement it is; never its text or its values.
        operation: &'static str,
        /// Whether it failed.
        failed: bool,
    },
}

impl Steps {
    /// None so far, from now on.
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

    /// When they began, and those there are.
    pub(super) fn so_far(&self) -> (SystemTime, Vec<Step>) {
        (self.0.at, self.0.steps.lock().clone())
    }
}

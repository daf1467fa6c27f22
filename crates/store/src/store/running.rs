//! Recorded writes (intents) whose request runs in this process.
//!
//! May use: this folder.

use super::intent::Intent;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;
use uuid::Uuid;

/// Intents whose request runs in this process.
#[derive(Debug, Default)]
pub(super) struct Running(Mutex<HashSet<Uuid>>);

impl Running {
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut HashSet<Uuid>) -> T) -> T {
        act(&mut self.0.lock())
    }
}

/// An intent whose request is running; other callers leave it alone until this is dropped.
#[derive(Debug)]
pub struct RunningIntent {
    /// The intent.
    pub intent: Intent,
    pub(super) running: Arc<Running>,
}

impl Drop for RunningIntent {
    fn drop(&mut self) {
        self.running.with(|ids| ids.remove(&self.intent.id));
    }
}

//! The lines of this process, and how many turns it may hold on the database. May use: this folder.

use super::lines::Lines;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Turns held on the database at once: fewer than connections, because a writer that has a turn goes on to read and
/// write.
pub(super) const HELD: usize = 8;

/// The lines of this process, and how many turns it may hold on the database.
#[derive(Debug, Clone)]
pub(super) struct Turns {
    pub(super) lines: Lines,
    pub(super) connections: Arc<Semaphore>,
}

impl Turns {
    pub(super) fn new(held: usize) -> Self {
        Self { lines: Lines::default(), connections: Arc::new(Semaphore::new(held)) }
    }
}

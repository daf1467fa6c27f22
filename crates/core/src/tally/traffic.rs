//! Connections of clients: how many were accepted, turned away, and are open.
//!
//! May use: this folder.

use super::counter::Counter;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Connections of clients.
#[derive(Debug, Default)]
pub struct Traffic {
    /// Connections that were accepted.
    pub accepted: Counter,
    /// Connections that were turned away because there was no room.
    pub turned_away: Counter,
    open: AtomicUsize,
}

impl Traffic {
    /// Counts a connection that was accepted.
    pub fn opened(&self) {
        self.accepted.add(1);
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a connection that has ended.
    pub fn closed(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns the number of open connections.
    pub fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }
}

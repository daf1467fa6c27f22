//! Connections of clients: how many were taken in, turned away, and are open.
//!
//! May use: this folder.

use super::counter::Counter;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Connections of clients.
#[derive(Debug, Default)]
pub struct Traffic {
    /// Connections that were taken in.
    pub accepted: Counter,
    /// Connections that were turned away for want of room.
    pub turned_away: Counter,
    open: AtomicUsize,
}

impl Traffic {
    /// A connection was taken in.
    pub fn opened(&self) {
        self.accepted.add(1);
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    /// A connection has ended.
    pub fn closed(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    /// Connections that are open.
    pub fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }
}

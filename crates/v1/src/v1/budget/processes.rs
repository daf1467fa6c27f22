//! How many gateway processes use the same keys at v1.
//!
//! May use: `shared`.

use crate::shared::Shared;
use std::fmt;

/// Somebody who knows.
pub trait Processes: fmt::Debug + Send + Sync {
    /// How many there are, this one included, or were when that was last known.
    fn processes(&self) -> usize;
}

impl Processes for Shared {
    fn processes(&self) -> usize {
        Self::processes(self)
    }
}

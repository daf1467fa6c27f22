//! When the gateway counts as ready. May use: this folder.

use super::reader::Reader;

/// Readiness (`[ready]`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadySettings {
    /// Whether it is not ready while v1 cannot be used.
    pub needs_v1: bool,
    /// Whether it is not ready while the store can only be read.
    pub needs_writes: bool,
}

impl ReadySettings {
    pub(super) fn read(from: &mut Reader) -> Self {
        Self { needs_v1: from.get("ready.needs_v1"), needs_writes: from.get("ready.needs_writes") }
    }
}

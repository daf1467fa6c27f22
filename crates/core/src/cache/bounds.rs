//! The limits of a cache: its size, and the lifetime of its entries.
//!
//! May use: nothing of this crate.

use std::time::Duration;

/// The maximum size of a cache, and the lifetime of its entries.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    pub(super) most: u64,
    pub(super) life: Option<Duration>,
    pub(super) idle: Option<Duration>,
    pub(super) recent: bool,
}

impl Bounds {
    /// Limits the cache to `most` entries, or to that weight.
    pub fn of(most: u64) -> Self {
        Self { most, life: None, idle: None, recent: false }
    }

    /// Limits the lifetime: an entry is dropped when `life` has passed since it was stored.
    #[must_use]
    pub fn for_time(self, life: Duration) -> Self {
        Self { life: Some(life), ..self }
    }

    /// Drops an entry when `idle` has passed since its last use.
    #[must_use]
    pub fn while_used_within(self, idle: Duration) -> Self {
        Self { idle: Some(idle), ..self }
    }

    /// Drops the value that was used longest ago when the cache is full. Without this, a rarely used value is dropped,
    /// which may be the new one.
    #[must_use]
    pub fn keeping_recent(self) -> Self {
        Self { recent: true, ..self }
    }
}

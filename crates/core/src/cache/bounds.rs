//! How much a cache keeps, and for how long.
//!
//! May use: nothing of this crate.

use std::time::Duration;

/// How much is kept, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    pub(super) most: u64,
    pub(super) life: Option<Duration>,
    pub(super) idle: Option<Duration>,
    pub(super) recent: bool,
}

impl Bounds {
    /// At most so many entries, or so much weight.
    pub fn of(most: u64) -> Self {
        Self { most, life: None, idle: None, recent: false }
    }

    /// An entry is kept for so long after it was put in.
    #[must_use]
    pub fn for_time(self, life: Duration) -> Self {
        Self { life: Some(life), ..self }
    }

    /// An entry is kept for so long after its last use.
    #[must_use]
    pub fn while_used_within(self, idle: Duration) -> Self {
        Self { idle: Some(idle), ..self }
    }

    /// When there is too much, the value that was used longest ago goes. Otherwise what is used seldom goes, and that
    /// may be the new entry.
    #[must_use]
    pub fn keeping_recent(self) -> Self {
        Self { recent: true, ..self }
    }
}

//! What is known of the indices beside what they hold.
//!
//! May use: what `service` may use.

use super::super::figures::Figures;
use super::Indexes;
use std::time::Duration;

impl Indexes {
    /// What is kept, and how it came about.
    pub fn figures(&self) -> Figures {
        let inner = &self.inner;
        let kept = inner.entries_where(|_| true).into_iter().filter_map(|(scope, _)| inner.indexes.any(&scope));
        Figures::of(kept.map(|kept| (kept.value, kept.began.at)), &inner.reads)
    }

    /// The freshness window.
    pub fn freshness(&self) -> Duration {
        self.inner.settings.freshness
    }

    /// Time from one comparison of all ids to the next.
    pub fn sweep(&self) -> Duration {
        self.inner.settings.sweep
    }
}

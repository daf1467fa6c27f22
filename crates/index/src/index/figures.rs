//! All indices together, for the operators' figures.
//!
//! May use: `tally`, this folder.

use super::project_index::Index;
use crate::tally::Counter;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Reads of v1 that were begun for indices.
#[derive(Default)]
pub(super) struct Reads {
    /// Of a whole list.
    pub(super) builds: Counter,
    /// Of what had changed.
    pub(super) refreshes: Counter,
    /// Those that another process has made for this one.
    pub(super) heard: Counter,
}

/// All indices together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    /// Lists of work items that have one.
    pub indexes: usize,
    /// Work items in all of them.
    pub items: usize,
    /// Bytes of all of them.
    pub bytes: usize,
    /// Age of the one that was read longest ago.
    pub oldest: Duration,
    /// Reads of a whole list.
    pub builds: u64,
    /// Reads of what had changed.
    pub refreshes: u64,
    /// Refreshes by what another process has read.
    pub heard: u64,
}

impl Figures {
    /// Of indices and when they were read.
    pub(super) fn of(kept: impl Iterator<Item = (Arc<Index>, Instant)>, reads: &Reads) -> Self {
        let (builds, refreshes, heard) = (reads.builds.get(), reads.refreshes.get(), reads.heard.get());
        kept.fold(Self { builds, refreshes, heard, ..Self::default() }, |all, (index, read_at)| Self {
            indexes: all.indexes + 1,
            items: all.items + index.len(),
            bytes: all.bytes + index.bytes(),
            oldest: all.oldest.max(read_at.elapsed()),
            ..all
        })
    }
}

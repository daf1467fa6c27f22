//! Figures of all indices together, for operators.
//!
//! May use: `tally`, this folder.

use super::project_index::Index;
use crate::tally::Counter;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Reads that were begun for indices.
#[derive(Default)]
pub(super) struct Reads {
    /// Complete reads of a list.
    pub(super) builds: Counter,
    /// Reads of the changes of a list.
    pub(super) refreshes: Counter,
    /// Refreshes with the answers that another process got.
    pub(super) heard: Counter,
}

/// Figures of all indices together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    /// Lists of work items that have an index.
    pub indexes: usize,
    /// Work items in all indices.
    pub items: usize,
    /// Bytes of all indices.
    pub bytes: usize,
    /// Age of the index whose read began longest ago.
    pub oldest: Duration,
    /// Complete reads of a list.
    pub builds: u64,
    /// Reads of the changes of a list.
    pub refreshes: u64,
    /// Refreshes with the answers that another process got.
    pub heard: u64,
}

impl Figures {
    /// Computes the figures of indices, each given with the start of its read.
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

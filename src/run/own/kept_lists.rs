//! Cache of finished lists of own records. May use: what `run` may use.

use crate::cache::{Bounds, Cache};
use crate::v2::record::Record;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// Most cached rows of all lists together.
const CAPACITY: u64 = 1_000_000;

/// Time after which an unused list is dropped.
const IDLE: Duration = Duration::from_secs(600);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) resource: usize,
    pub(super) workspace: Uuid,
    pub(super) project: Option<Uuid>,
    pub(super) within: Option<Uuid>,
}

#[derive(Clone)]
pub(super) struct KeptRows {
    /// Version of the definitions from which the rows were built.
    pub(super) version: i64,
    pub(super) rows: Arc<[Record]>,
    /// Bytes of the rows as JSON.
    pub(super) size: usize,
}

/// The cached lists; clones are the same.
#[derive(Clone)]
pub struct KeptLists(pub(super) Cache<Key, KeptRows>);

impl Default for KeptLists {
    fn default() -> Self {
        let weight = |_: &Key, kept: &KeptRows| u32::try_from(kept.rows.len() + 1).unwrap_or(u32::MAX);
        Self(Cache::weighed(Bounds::of(CAPACITY).while_used_within(IDLE), weight))
    }
}

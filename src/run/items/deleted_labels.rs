//! Labels deleted through the gateway: v1 still shows them on work items until it has cleaned up in the background, at
//! no promised time (trap 39). Also labels deleted directly at v1, which rows of the index keep (`live_labels`).
//! A deleted label never comes back.
//!
//! May use: `cache`.

use crate::cache::{Bounds, Cache};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use uuid::Uuid;

const MOST: u64 = 100_000;

/// Labels that were deleted; clones are the same.
#[derive(Clone)]
pub(in crate::run) struct DeletedLabels {
    ids: Cache<Uuid, ()>,
    /// Whether any label was ever deleted. Usually none was, and then the labels of a page need no look-up.
    any: Arc<AtomicBool>,
}

impl Default for DeletedLabels {
    fn default() -> Self {
        Self { ids: Cache::new(Bounds::of(MOST).keeping_recent()), any: Arc::default() }
    }
}

impl DeletedLabels {
    pub(in crate::run) fn insert(&self, id: Uuid) {
        self.ids.insert(id, ());
        self.any.store(true, Ordering::Release);
    }

    pub(in crate::run) fn contains(&self, id: Uuid) -> bool {
        self.any.load(Ordering::Acquire) && self.ids.contains(&id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept_when_there_are_too_many() {
        let deleted = DeletedLabels::default();
        let ids = (0..u128::from(MOST) + 1_000).map(Uuid::from_u128);
        ids.clone().for_each(|id| deleted.insert(id));
        deleted.ids.entries();
        assert!(ids.rev().take(1_000).all(|id| deleted.contains(id)));
    }
}

//! Labels deleted through the gateway a moment ago: v1 shows them on work items until it has cleaned up (trap 39).
//!
//! May use: `cache`.

use crate::cache::{Bounds, Cache};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use uuid::Uuid;

const MOST: u64 = 100_000;

/// Time after which v1 has cleaned up behind a delete; it does so within a fraction of a second (trap 39).
const CLEANED_UP: Duration = Duration::from_secs(60);

/// Labels deleted a moment ago; clones are the same.
#[derive(Clone)]
pub(in crate::run) struct DeletedLabels {
    ids: Cache<Uuid, ()>,
    /// Whether there ever was one. Mostly there was none, and then not each label of a page has to be looked for.
    any: Arc<AtomicBool>,
}

impl Default for DeletedLabels {
    fn default() -> Self {
        Self { ids: Cache::new(Bounds::of(MOST).for_time(CLEANED_UP)), any: Arc::default() }
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

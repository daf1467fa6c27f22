//! The cache behind all types: `moka`, compiled once.
//!
//! May use: this folder.

use super::any_key::{AnyKey, Comparable};
use super::bounds::Bounds;
use foldhash::quality::RandomState;
use moka::policy::EvictionPolicy;
use std::any::Any;
use std::sync::Arc;

/// The function that returns the weight of a value.
pub(super) type Weigh = Box<dyn Fn(&dyn Any, &dyn Any) -> u32 + Send + Sync>;

/// The cache behind all types. Nothing here is generic, so that it is compiled in this crate.
#[derive(Clone)]
pub(super) struct Kept(moka::sync::Cache<AnyKey, Arc<dyn Any + Send + Sync>, RandomState>);

impl Kept {
    pub(super) fn new(bounds: Bounds, weigh: Option<Weigh>) -> Self {
        let policy = if bounds.recent { EvictionPolicy::lru() } else { EvictionPolicy::tiny_lfu() };
        let mut builder = moka::sync::Cache::builder().max_capacity(bounds.most).eviction_policy(policy);
        if let Some(life) = bounds.life {
            builder = builder.time_to_live(life);
        }
        if let Some(idle) = bounds.idle {
            builder = builder.time_to_idle(idle);
        }
        if let Some(weigh) = weigh {
            let of = move |key: &AnyKey, value: &Arc<dyn Any + Send + Sync>| weigh(key.inner(), &**value);
            builder = builder.weigher(of);
        }
        Self(builder.build_with_hasher(RandomState::default()))
    }

    pub(super) fn get(&self, key: &(dyn Comparable + 'static)) -> Option<Arc<dyn Any + Send + Sync>> {
        self.0.get(key)
    }

    pub(super) fn contains(&self, key: &(dyn Comparable + 'static)) -> bool {
        self.0.contains_key(key)
    }

    pub(super) fn insert(&self, key: AnyKey, value: Arc<dyn Any + Send + Sync>) {
        self.0.insert(key, value);
    }

    pub(super) fn insert_new(&self, key: AnyKey, value: Arc<dyn Any + Send + Sync>) -> bool {
        self.0.entry(key).or_insert(value).is_fresh()
    }

    pub(super) fn get_or_insert(
        &self,
        key: AnyKey,
        value: Arc<dyn Any + Send + Sync>,
    ) -> Arc<dyn Any + Send + Sync> {
        self.0.entry(key).or_insert(value).into_value()
    }

    pub(super) fn remove(&self, key: &(dyn Comparable + 'static)) {
        self.0.invalidate(key);
    }

    pub(super) fn entries(&self) -> u64 {
        self.0.run_pending_tasks();
        self.0.entry_count()
    }
}

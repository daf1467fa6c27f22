//! How many gateway processes there are, as far as Redis or the store knows.
//!
//! May use: `shared`, `store`, `v1`; it is composition.

use crate::shared::Shared;
use crate::store::Store;
use crate::v1::Processes;
use std::sync::OnceLock;

/// The processes of the deployment.
#[derive(Debug)]
pub(super) struct Peers {
    shared: Option<Shared>,
    store: OnceLock<Store>,
}

impl Peers {
    pub(super) fn new(shared: Option<Shared>) -> Self {
        Self { shared, store: OnceLock::new() }
    }

    /// From now on the store is asked as well.
    pub(super) fn know(&self, store: Store) {
        let _ = self.store.set(store);
    }
}

impl Processes for Peers {
    fn processes(&self) -> usize {
        let by_redis = self.shared.as_ref().map_or(1, Shared::processes);
        by_redis.max(self.store.get().map_or(1, Store::processes))
    }
}

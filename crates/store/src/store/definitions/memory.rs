//! Copies of the definitions of workspaces in memory.

use crate::cache::{Bounds, Cache};
use crate::catalogue::Catalogue;
use std::sync::Arc;
use uuid::Uuid;

/// Definitions kept in memory, of all workspaces together.
const KEPT: u64 = 1_000_000;

/// Catalogues in memory.
#[derive(Debug, Clone)]
pub(in crate::store) struct Memory(Cache<Uuid, Arc<Catalogue>>);

impl Memory {
    pub(in crate::store) fn new() -> Self {
        let weight = |_: &Uuid, catalogue: &Arc<Catalogue>| {
            let records = catalogue.types.len()
                + catalogue.properties.len()
                + catalogue.options.len()
                + catalogue.contexts.len()
                + catalogue.attachments.len()
                + catalogue.imports.len();
            u32::try_from(records + 1).unwrap_or(u32::MAX)
        };
        Self(Cache::weighed(Bounds::of(KEPT), weight))
    }

    pub(super) fn get(&self, workspace: Uuid, version: i64) -> Option<Arc<Catalogue>> {
        self.0.get(&workspace).filter(|kept| kept.version == version)
    }

    pub(super) fn put(&self, catalogue: &Arc<Catalogue>) {
        self.0.insert(catalogue.workspace, Arc::clone(catalogue));
    }
}

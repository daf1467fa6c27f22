//! Copies of the definitions of workspaces in memory. May use: `cache`, `catalogue`, `units`, `v2`
//! (time), this folder.

use crate::cache::{Bounds, Cache};
use crate::catalogue::Catalogue;
use crate::units::now_micros;
use crate::v2::time::Micros;
use std::sync::{Arc, OnceLock};
use uuid::Uuid;

/// Number of definitions kept in memory, of all workspaces together.
const KEPT: u64 = 1_000_000;

/// Catalogues in memory.
#[derive(Debug, Clone)]
pub(in crate::store) struct Memory {
    kept: Cache<Uuid, Arc<Catalogue>>,
    /// Time when the store was created, as far as known.
    begun: Arc<OnceLock<Micros>>,
}

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
        Self { kept: Cache::weighed(Bounds::of(KEPT), weight), begun: Arc::default() }
    }

    /// Sets the time when the store was created; only the first call has an effect.
    pub(in crate::store) fn begin_at(&self, instant: Micros) {
        let _ = self.begun.set(instant);
    }

    pub(super) fn get(&self, workspace: Uuid, version: i64) -> Option<Arc<Catalogue>> {
        self.kept.get(&workspace).filter(|kept| kept.version == version)
    }

    /// Returns the kept definitions, else those of a workspace for which nothing was written yet. Its features have the
    /// creation time of the store, so that all processes show the same.
    pub(super) fn first(&self, workspace: Uuid) -> Arc<Catalogue> {
        let begun = *self.begun.get_or_init(now_micros);
        self.kept.get_or_insert(workspace, || Arc::new(Catalogue::empty(workspace, begun)))
    }

    pub(super) fn put(&self, catalogue: &Arc<Catalogue>) {
        self.kept.insert(catalogue.workspace, Arc::clone(catalogue));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_without_definitions_looks_the_same_to_all() {
        let (memory, workspace) = (Memory::new(), Uuid::new_v4());
        let first = memory.first(workspace);
        assert!(Arc::ptr_eq(&first, &memory.first(workspace)));
        assert!(memory.get(workspace, 0).is_some_and(|kept| Arc::ptr_eq(&first, &kept)));
        assert!(memory.get(workspace, 1).is_none());
        // Other processes use the same instant.
        let instants = [7, 8].map(|other| {
            let memory = Memory::new();
            memory.begin_at(7);
            memory.begin_at(other);
            memory.first(workspace).features.created_at
        });
        assert_eq!(instants, [7, 7]);
    }
}

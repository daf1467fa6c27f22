//! Copies of the definitions of workspaces in memory. May use: `cache`, `catalogue`, `units`, this folder.

use crate::cache::{Bounds, Cache};
use crate::catalogue::Catalogue;
use crate::units::now_micros;
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

    /// What is kept, else definitions of a workspace for which nothing was written yet: all who ask at once get the
    /// same, so that its features were made at one instant.
    pub(super) fn first(&self, workspace: Uuid) -> Arc<Catalogue> {
        self.0.get_or_insert(workspace, || Arc::new(Catalogue::empty(workspace, now_micros())))
    }

    pub(super) fn put(&self, catalogue: &Arc<Catalogue>) {
        self.0.insert(catalogue.workspace, Arc::clone(catalogue));
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
    }
}

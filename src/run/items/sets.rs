//! Which work items are in a cycle or a module, for the filters `cycle_id…` and `module_id…`.
//!
//! v1 shows membership nowhere on an item (`cycles_item_detail_has_no_cycle`), only as the list inside each
//! cycle or module. Those lists page exactly only when ordered by id (trap 44, `lists_cycle_order_priority`).
//! Module adds do not move an item's `updated_at` (trap 56), so each set has a time to live of its own.

use crate::plan::{Resource, Rows};
use crate::refusal::Refusal;
use crate::run::job::Job;
use crate::run::shelf::Loaded;
use crate::run::v1_faults::bad_data;
use crate::translate::incoming;
use bytes::Bytes;
use serde::Deserialize;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;
use uuid::Uuid;

/// What groups work items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::run) enum SetKind {
    /// A cycle; an item is in at most one.
    Cycle,
    /// A module; an item may be in several.
    Module,
}

impl SetKind {
    fn collection(self) -> &'static str {
        match self {
            Self::Cycle => "cycles",
            Self::Module => "modules",
        }
    }

    /// The kind whose sets are the records of a resource.
    fn of(resource: &Resource) -> Option<Self> {
        [Self::Cycle, Self::Module].into_iter().find(|kind| kind.collection() == resource.name)
    }

    fn members(self) -> &'static str {
        match self {
            Self::Cycle => "cycle-issues",
            Self::Module => "module-issues",
        }
    }
}

impl Job {
    /// Items of the cycle or module `id`; none when v1 does not know it, as filters only shrink.
    pub(in crate::run) async fn members_of(&self, kind: SetKind, id: Uuid) -> Result<Arc<HashSet<Uuid>>, Refusal> {
        self.ids_at(self.members_path(kind, id)?, "order_by=id&fields=id").await
    }

    /// Nobody is in the record `id` any more, which was just deleted: what was read before does not count, and v1
    /// may show its members for a moment longer (`cycles_deleted_items_later`), so that nothing is kept instead.
    pub(in crate::run) async fn left_by_all(&self, resource: &Resource, id: Uuid) -> Result<(), Refusal> {
        let Some(kind) = SetKind::of(resource) else { return Ok(()) };
        let place = self.place_at(self.members_path(kind, id)?)?;
        let mut write = self.runner.sets.begin_write(&place, self.audience()?, Arc::default()).await;
        write.found(&Loaded { thing: Arc::default(), read_at: Instant::now() });
        write.finish(HashSet::clone);
        Ok(())
    }

    fn members_path(&self, kind: SetKind, id: Uuid) -> Result<String, Refusal> {
        Ok(format!("{}{}/{id}/{}/", self.project_path()?, kind.collection(), kind.members()))
    }

    /// Items in any cycle or module of the project, archived ones included.
    pub(in crate::run) async fn members_of_any(&self, kind: SetKind) -> Result<HashSet<Uuid>, Refusal> {
        let project = self.project_path()?;
        let live = self.ids_at(format!("{project}{}/", kind.collection()), "fields=id").await?;
        let archived = self.ids_at(format!("{project}archived-{}/", kind.collection()), "fields=id").await?;
        let mut members = HashSet::new();
        for id in live.iter().chain(archived.iter()) {
            members.extend(self.members_of(kind, *id).await?.iter().copied());
        }
        Ok(members)
    }

    /// v1 path of the project, from that of its work items.
    fn project_path(&self) -> Result<String, Refusal> {
        let path = self.collection_path(self.work_items()?)?;
        let project = path.strip_suffix("work-items/").map(str::to_owned);
        project.ok_or_else(|| Refusal::internal("work items live elsewhere"))
    }

    async fn ids_at(&self, path: String, query: &'static str) -> Result<Arc<HashSet<Uuid>>, Refusal> {
        let place = self.place_at(path)?;
        let (runner, key, ctx) = (Arc::clone(&self.runner), self.key().clone(), self.shared_ctx());
        let path = Arc::clone(&place.path);
        let read = || async move {
            let pages = runner
                .client
                .read_all(&key, &path, query, &ctx)
                .await
                .map_err(crate::run::v1_faults::refused_read)?;
            ids_of(&pages)
        };
        let loaded = self.load_from(&self.runner.sets, &place, read).await;
        loaded.map(|loaded| loaded.thing).map_err(|refusal| self.after_refused_read(refusal))
    }
}

fn ids_of(pages: &[Bytes]) -> Result<HashSet<Uuid>, Refusal> {
    #[derive(Deserialize)]
    struct Row {
        id: Uuid,
    }
    let mut ids = HashSet::new();
    for page in pages {
        for row in incoming::rows(Rows::Paged, page).map_err(|fault| bad_data(&fault))? {
            let row: Row = serde_json::from_str(row.get()).map_err(Refusal::internal)?;
            ids.insert(row.id);
        }
    }
    Ok(ids)
}

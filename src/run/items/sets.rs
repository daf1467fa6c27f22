//! The work items of a cycle or a module, for the filters `cycle_id…` and `module_id…`.
//!
//! v1 does not show membership on an item (`cycles_item_detail_has_no_cycle`), only as the list inside each
//! cycle or module. Pages of these lists are exact only when ordered by a value that no two items share (trap 44,
//! `lists_cycle_order_priority`): by their numbers, because since Plane 1.4.0 v1 does not order by `id` any more.
//! Adding an item to a module does not change its `updated_at` (trap 56), so each set has its own time to live. May
//! use: what `run` may use.

use crate::index::SetNeeds;
use crate::plan::{Known, Resource};
use crate::refusal::Refusal;
use crate::run::job::InProject;
use crate::run::kept::empty_lists::OLDER;
use crate::run::members::refused_read;
use crate::run::reads::load::records_of;
use bytes::Bytes;
use serde::Deserialize;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;
use uuid::Uuid;

/// Calls that are made beside those for members: proofs of access, and the lists of sets.
const BESIDE: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::run) enum SetKind {
    /// A cycle; an item is in at most one.
    Cycle,
    /// A module; an item may be in several.
    Module,
}

impl SetKind {
    /// Returns the resource whose records are the sets.
    fn known(self) -> Known {
        match self {
            Self::Cycle => Known::Cycles,
            Self::Module => Known::Modules,
        }
    }

    /// Returns the name of the sets, with which filters begin.
    fn what(self) -> &'static str {
        match self {
            Self::Cycle => "cycle",
            Self::Module => "module",
        }
    }

    /// Returns the kind whose sets are the records of a resource.
    fn of(resource: &Resource) -> Option<Self> {
        [Self::Cycle, Self::Module].into_iter().find(|kind| resource.is(kind.known()))
    }
}

impl InProject<'_> {
    /// Returns the items of the cycle or module `id`; none when v1 does not know it, as filters only shrink a list.
    pub(in crate::run) async fn members_of(&self, kind: SetKind, id: Uuid) -> Result<Arc<HashSet<Uuid>>, Refusal> {
        self.ids_at(self.members_path(kind, id)?, "order_by=sequence_id&fields=id").await
    }

    /// Returns the items of each of these sets; a set that v1 does not know has none, or is missing.
    pub(in crate::run) async fn members_of_each(
        &self,
        kind: SetKind,
        named: &[Uuid],
    ) -> Result<HashMap<Uuid, Arc<HashSet<Uuid>>>, Refusal> {
        let mut existing = named.to_vec();
        if self.number_to_read(kind, named.iter())? > SetNeeds::FEW {
            let known = self.sets(kind).await?;
            existing.retain(|set| known.contains(set));
        }
        self.check_enough_quota_for_sets(kind, "in", existing.iter())?;
        let mut members = HashMap::new();
        for set in existing {
            members.insert(set, self.members_of(kind, set).await?);
        }
        Ok(members)
    }

    /// Empties the set of the record `id`, which was just deleted: members that were read before are invalid. v1 may
    /// still show its members for a moment (`cycles_deleted_items_later`), so an empty set is cached instead of reading
    /// again.
    pub(in crate::run) async fn empty_set_of_deleted(&self, id: Uuid) -> Result<(), Refusal> {
        if self.resource().is(Known::Labels) {
            // v1 removes the label from items in the background (`labels_item_after_label_delete`); until then it is
            // removed from v1's answers.
            self.runner.deleted_labels.insert(id);
        }
        let Some(kind) = SetKind::of(self.resource()) else { return Ok(()) };
        let place = self.place_at(self.members_path(kind, id)?);
        let (audience, key) = (self.audience()?, self.key().id());
        let mut write = self.runner.sets.begin_write(&place, audience, key, Arc::default(), Arc::default()).await;
        write.known(HashSet::new());
        write.finish(HashSet::clone);
        Ok(())
    }

    fn members_path(&self, kind: SetKind, id: Uuid) -> Result<String, Refusal> {
        let set = self.record_path(self.resource_named(kind.known())?, id)?;
        Ok(set + kind.known().items().unwrap_or_default())
    }

    /// Checks whether all members of these sets can be read while the first ones read are still valid. A read that
    /// cannot end would spend v1's quota in vain, again and again.
    fn check_enough_quota_for_sets<'a>(
        &self,
        kind: SetKind,
        test: &str,
        sets: impl Iterator<Item = &'a Uuid>,
    ) -> Result<(), Refusal> {
        let settings = &self.runner.settings.cache;
        let lasting = settings.stretch.max(settings.collection);
        let (budget, priority) = (&self.runner.client.budget, self.call.ctx.priority);
        let Some(most) = budget.most_within(self.key().id(), priority, lasting) else { return Ok(()) };
        let lacking = self.number_to_read(kind, sets)?;
        if lacking <= most.saturating_sub(BESIDE).max(1) {
            return Ok(());
        }
        let what = kind.what();
        Err(Refusal::field(
            format!("{what}_id__{test}"),
            format!(
                "takes a look into each of {lacking} {what}s, and the service behind allows this key too few calls for \
                 that: {most} while what was seen first still counts"
            ),
        ))
    }

    /// Returns the number of these sets whose members must be read from v1.
    fn number_to_read<'a>(&self, kind: SetKind, sets: impl Iterator<Item = &'a Uuid>) -> Result<usize, Refusal> {
        let (audience, age) = (self.audience()?, self.collection_age());
        let mut lacking = 0;
        for set in sets {
            let place = self.place_at(self.members_path(kind, *set)?);
            lacking += usize::from(self.runner.sets.kept_within(&place, audience, age).is_none());
        }
        Ok(lacking)
    }

    /// Returns the items in any cycle or module of the project, archived ones included.
    pub(in crate::run) async fn members_of_any(&self, kind: SetKind) -> Result<HashSet<Uuid>, Refusal> {
        let sets = self.sets(kind).await?;
        self.check_enough_quota_for_sets(kind, "isnull", sets.iter())?;
        let mut members = HashSet::new();
        for id in sets {
            members.extend(self.members_of(kind, id).await?.iter().copied());
        }
        Ok(members)
    }

    /// Returns the ids of all cycles or modules of the project, archived ones included.
    async fn sets(&self, kind: SetKind) -> Result<HashSet<Uuid>, Refusal> {
        let sets = self.collection_path(self.resource_named(kind.known())?)?;
        let apart = kind.known().archived(&sets);
        let (live, archived) = (self.ids_at(sets, "fields=id").await?, self.ids_at(apart, "fields=id").await?);
        Ok(live.union(&archived).copied().collect())
    }

    async fn ids_at(&self, path: String, query: &'static str) -> Result<Arc<HashSet<Uuid>>, Refusal> {
        let place = self.place_at(path);
        let read = |how| {
            let (runner, path, ctx) = (Arc::clone(&self.runner), Arc::clone(&place.path), self.ctx_of(how));
            let (caller, slug, project) = (self.call.caller.clone(), self.slug().to_owned(), self.card.id);
            async move {
                let pages = runner.client.read_all(&caller.key, &path, query, &ctx).await.map_err(refused_read)?;
                let ids = ids_of(&pages)?;
                if ids.is_empty() {
                    runner.prove_empty(&caller, &slug, project, Instant::now(), OLDER, &ctx).await?;
                }
                Ok(ids)
            }
        };
        Ok(self.load_from(&self.runner.sets, &place, read).await?.value)
    }
}

fn ids_of(pages: &[Bytes]) -> Result<HashSet<Uuid>, Refusal> {
    #[derive(Deserialize)]
    struct Row {
        id: Uuid,
    }
    let mut ids = HashSet::new();
    for page in pages {
        ids.extend(records_of::<Row>(page)?.iter().map(|row| row.id));
    }
    Ok(ids)
}

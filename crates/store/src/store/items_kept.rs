//! Records about the work items of projects, in memory, with the counter of each project.
//!
//! May use: `fresh`, `v2` (times), this folder.

use super::asked::Answers;
use super::intent::Intent;
use super::recorded::{OwnWrite, TypeChange};
use crate::fresh::{Changes, Fresh};
use crate::v2::time::Micros;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, LazyLock};
use uuid::Uuid;

/// Bytes of all projects kept in memory. An item with a type takes about a hundred bytes.
const BYTES: u64 = 64 * 1024 * 1024;
/// Bytes of a project with nothing recorded, and of each of its open writes and recent writes.
const ENTRY: usize = 512;
/// Number of recent writes of a project that are remembered one by one.
const RECENT: usize = 64;

/// Records about the work items of a project, as of one moment.
#[derive(Debug, Clone, Default)]
pub struct ProjectItems {
    pub(super) version: i64,
    /// Lower bound of the project's epoch at that moment. v1 has carried out the recorded writes, so data read from v1
    /// before that epoch must not be combined with these records.
    pub epoch: i64,
    /// Types of items that have one.
    pub types: Arc<HashMap<Uuid, Uuid>>,
    /// Items that have a record, with the time of its last write.
    pub known: Arc<HashMap<Uuid, Micros>>,
    /// Recorded items that v1 did not show when they were last looked for.
    pub missing: Arc<HashSet<Uuid>>,
    /// Recorded items that were archived through the gateway.
    pub archived: Arc<HashSet<Uuid>>,
    /// Writes that are not settled, oldest first.
    pub open: Arc<Vec<Intent>>,
    /// The last writes of types and values that this process has applied in memory.
    pub(super) recent: Arc<VecDeque<Recent>>,
}

/// Writes about an item since some moment.
#[derive(Debug, Clone, Copy)]
pub enum WrittenSince<'p> {
    /// Some of the writes are unknown.
    NotKnown,
    /// At most writes to the store, without a request to v1.
    StoreOnly,
    /// Writes with requests to v1.
    Updates {
        /// The first of them.
        first: &'p Intent,
        /// The last of them.
        last: &'p Intent,
    },
}

/// A write of the type or values of an item.
#[derive(Debug, Clone)]
pub(super) struct Recent {
    item: Uuid,
    at: Micros,
    /// Time of the previous write about the same item.
    before: Option<Micros>,
    /// The request to v1 that belongs to it; none when the item at v1 stayed as it was.
    update: Option<Arc<Intent>>,
}

/// The records of a project about which nothing was ever recorded.
pub(super) static NOTHING: LazyLock<Arc<ProjectItems>> = LazyLock::new(Arc::default);

/// Creates an empty cache. A project larger than the whole budget is kept alone.
pub(super) fn none(changes: &Changes) -> Answers<Arc<ProjectItems>> {
    Fresh::new(changes, BYTES).weighing(|_, items: &Arc<ProjectItems>| BYTES.min(items.bytes() as u64))
}

impl ProjectItems {
    /// Checks whether anything is recorded about an item.
    pub fn knows(&self, item: Uuid) -> bool {
        self.known.contains_key(&item)
    }

    /// Estimates the bytes that the records take.
    fn bytes(&self) -> usize {
        let items = self.known.capacity() * size_of::<(Uuid, Micros)>()
            + self.types.capacity() * size_of::<(Uuid, Uuid)>()
            + (self.missing.capacity() + self.archived.capacity()) * size_of::<Uuid>();
        // A hash table keeps an eighth of its places free.
        items * 8 / 7 + (1 + self.open.len() + self.recent.len()) * ENTRY
    }

    /// Checks whether nothing is recorded about any item.
    pub fn is_nothing(&self) -> bool {
        self.known.is_empty() && self.open.is_empty()
    }

    /// Returns the time of the last write about an item.
    pub fn written_at(&self, item: Uuid) -> Option<Micros> {
        self.known.get(&item).copied()
    }

    /// Checks whether the records of an item are the same as in `other`, and did not change between the two.
    pub fn agrees_about(&self, item: Uuid, other: &Self) -> bool {
        self.written_at(item) == other.written_at(item)
    }

    /// Returns a copy in which these items have their types of `earlier`.
    #[must_use]
    pub fn with_types_of(&self, earlier: &Self, items: &[Uuid]) -> Self {
        let mut with = self.clone();
        let types = Arc::make_mut(&mut with.types);
        for item in items {
            match earlier.types.get(item) {
                Some(type_id) => types.insert(*item, *type_id),
                None => types.remove(item),
            };
        }
        with
    }

    /// Returns the writes about an item since `earlier`.
    pub fn written_since(&self, item: Uuid, earlier: &Self) -> WrittenSince<'_> {
        let (mut now, then) = (self.written_at(item), earlier.written_at(item));
        let mut since = WrittenSince::StoreOnly;
        while now != then {
            let is_it = |recent: &&Recent| recent.item == item && Some(recent.at) == now;
            let Some(written) = self.recent.iter().rev().find(is_it) else { return WrittenSince::NotKnown };
            since = match (since, &written.update) {
                (WrittenSince::Updates { last, .. }, Some(first)) => WrittenSince::Updates { first, last },
                (_, Some(only)) => WrittenSince::Updates { first: only, last: only },
                (since, None) => since,
            };
            now = written.before;
        }
        since
    }

    /// Does the same as [`ProjectItems::wrote`], and remembers the write, with its request to v1 if there was one.
    pub(super) fn wrote_and_remembered(
        &mut self,
        item: Uuid,
        own: &OwnWrite,
        at: Micros,
        update: Option<Arc<Intent>>,
    ) {
        let recent = Recent { item, at, before: self.known.get(&item).copied(), update };
        let all = Arc::make_mut(&mut self.recent);
        if all.len() == RECENT {
            all.pop_front();
        }
        all.push_back(recent);
        self.wrote(item, own, at);
    }

    pub(super) fn wrote(&mut self, item: Uuid, own: &OwnWrite, at: Micros) {
        Arc::make_mut(&mut self.known).insert(item, at);
        if self.missing.contains(&item) {
            Arc::make_mut(&mut self.missing).remove(&item);
        }
        match own.type_id {
            TypeChange::Kept => {}
            TypeChange::Set(Some(type_id)) => drop(Arc::make_mut(&mut self.types).insert(item, type_id)),
            TypeChange::Set(None) => drop(Arc::make_mut(&mut self.types).remove(&item)),
        }
    }

    pub(super) fn purged(&mut self, item: Uuid) {
        Arc::make_mut(&mut self.types).remove(&item);
        Arc::make_mut(&mut self.known).remove(&item);
        for set in [&mut self.missing, &mut self.archived] {
            if set.contains(&item) {
                Arc::make_mut(set).remove(&item);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::IntentKind;
    use serde_json::json;

    #[test]
    fn projects_are_kept_by_what_they_take() {
        let id = |number: usize| Uuid::from_u128(number as u128);
        let of = |count: usize| {
            let known = (0..count).map(|number| (id(number), 1)).collect();
            let types = (0..count).map(|number| (id(number), id(7))).collect();
            Arc::new(ProjectItems {
                version: 1,
                known: Arc::new(known),
                types: Arc::new(types),
                ..ProjectItems::default()
            })
        };
        let changes = Changes::default();
        let kept = none(&changes);
        let small = of(10);
        (0..2_000).for_each(|project| kept.put(&id(project), Arc::clone(&small), changes.now()));
        assert_eq!(kept.figures().entries, 2_000);
        let large = of(200_000);
        (2_000..2_008).for_each(|project| kept.put(&id(project), Arc::clone(&large), changes.now()));
        let figures = kept.figures();
        assert!(figures.weight <= BYTES && (1..8).contains(&figures.entries), "{figures:?}");
    }

    #[test]
    fn recent_writes_are_known_as_long_as_the_list_is_complete() {
        let (item, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let own = OwnWrite::default();
        let update = Intent::new(IntentKind::Update, (other, other), Some(item), other, json!({}), own.clone());
        let update = Arc::new(update);
        let mut items = ProjectItems::default();
        let none = items.clone();
        items.wrote_and_remembered(item, &own, 1, None);
        let made = items.clone();
        assert!(matches!(items.written_since(item, &none), WrittenSince::StoreOnly));
        items.wrote_and_remembered(item, &own, 2, Some(Arc::clone(&update)));
        items.wrote_and_remembered(item, &own, 3, None);
        let second = Arc::new(Intent { id: other, ..Intent::clone(&update) });
        items.wrote_and_remembered(item, &own, 4, Some(Arc::clone(&second)));
        let are_both = |since| match since {
            WrittenSince::Updates { first, last } => first.id == update.id && last.id == second.id,
            _ => false,
        };
        assert!(are_both(items.written_since(item, &none)) && are_both(items.written_since(item, &made)));
        assert!(matches!(items.written_since(item, &items), WrittenSince::StoreOnly));
        // A write that is not remembered as recent.
        items.wrote(item, &own, 5);
        assert!(matches!(items.written_since(item, &made), WrittenSince::NotKnown));
        let later = items.clone();
        for at in 6..6 + RECENT as i64 {
            items.wrote_and_remembered(other, &own, at, None);
        }
        items.wrote_and_remembered(item, &own, 1_000, None);
        assert!(matches!(items.written_since(item, &later), WrittenSince::StoreOnly));
        assert!(matches!(items.written_since(item, &none), WrittenSince::NotKnown));
    }
}

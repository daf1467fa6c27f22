//! What is recorded about the work items of projects, in memory, beside the counter of each project.
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

/// Bytes of all projects kept in memory. A typed item is about a hundred of them.
const BYTES: u64 = 64 * 1024 * 1024;
/// What a project takes with nothing recorded, and each of its writes that are remembered one by one.
const ENTRY: usize = 512;
/// Writes of a project that are remembered one by one.
const RECENT: usize = 64;

/// What is recorded about the work items of a project, as of one moment.
#[derive(Debug, Clone, Default)]
pub struct ProjectItems {
    pub(super) version: i64,
    /// The project's epoch then, at least: v1 has carried out what is recorded, so nothing that was read of v1 before
    /// that epoch goes with it.
    pub epoch: i64,
    /// Types of items that have one.
    pub types: Arc<HashMap<Uuid, Uuid>>,
    /// Items anything is recorded about, and when that was last written.
    pub known: Arc<HashMap<Uuid, Micros>>,
    /// Of them, those v1 did not show when they were last looked for.
    pub missing: Arc<HashSet<Uuid>>,
    /// Of them, those archived through the gateway.
    pub archived: Arc<HashSet<Uuid>>,
    /// Writes that are not settled, oldest first.
    pub open: Arc<Vec<Intent>>,
    /// The last writes of types and values that this process has carried in.
    pub(super) recent: Arc<VecDeque<Recent>>,
}

/// What was written about an item since some moment.
#[derive(Debug, Clone, Copy)]
pub enum WrittenSince<'p> {
    /// Not all of it is known.
    NotKnown,
    /// Nothing that v1 was asked for.
    StoreOnly,
    /// v1 was asked for changes.
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
    /// When what is recorded about the item was written before.
    before: Option<Micros>,
    /// What v1 was asked for with it; none when v1's half of the item stayed as it was.
    update: Option<Arc<Intent>>,
}

/// What is recorded of a project of which nothing ever was.
pub(super) static NOTHING: LazyLock<Arc<ProjectItems>> = LazyLock::new(Arc::default);

/// Nothing in memory yet. A project that takes more than all may is kept alone.
pub(super) fn none(changes: &Changes) -> Answers<Arc<ProjectItems>> {
    Fresh::new(changes, BYTES).weighing(|_, items: &Arc<ProjectItems>| BYTES.min(items.bytes() as u64))
}

impl ProjectItems {
    /// Whether anything is recorded about an item.
    pub fn knows(&self, item: Uuid) -> bool {
        self.known.contains_key(&item)
    }

    /// About how many bytes it takes.
    fn bytes(&self) -> usize {
        let items = self.known.capacity() * size_of::<(Uuid, Micros)>()
            + self.types.capacity() * size_of::<(Uuid, Uuid)>()
            + (self.missing.capacity() + self.archived.capacity()) * size_of::<Uuid>();
        // A table of hashes has an eighth of its places free.
        items * 8 / 7 + (1 + self.open.len() + self.recent.len()) * ENTRY
    }

    /// Whether nothing is recorded about any item.
    pub fn is_nothing(&self) -> bool {
        self.known.is_empty() && self.open.is_empty()
    }

    /// When what is recorded about an item was written last.
    pub fn written_at(&self, item: Uuid) -> Option<Micros> {
        self.known.get(&item).copied()
    }

    /// Whether the same is recorded about an item as in `other`, and was all the time between the two.
    pub fn agrees_about(&self, item: Uuid, other: &Self) -> bool {
        self.written_at(item) == other.written_at(item)
    }

    /// The same with the types that these items had in `earlier`.
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

    /// What was written about an item since `earlier`.
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

    /// The same as [`ProjectItems::wrote`], and what v1 was asked for with it.
    pub(super) fn wrote_beside(&mut self, item: Uuid, own: &OwnWrite, at: Micros, update: Option<Arc<Intent>>) {
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
        self.unmiss(&[item]);
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

    fn unmiss(&mut self, items: &[Uuid]) {
        if items.iter().any(|item| self.missing.contains(item)) {
            let missing = Arc::make_mut(&mut self.missing);
            missing.retain(|item| !items.contains(item));
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
    fn what_was_written_since_is_known_as_long_as_all_of_it_is() {
        let (item, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let own = OwnWrite::default();
        let update = Intent::new(IntentKind::Update, (other, other), Some(item), other, json!({}), own.clone());
        let update = Arc::new(update);
        let mut items = ProjectItems::default();
        let none = items.clone();
        items.wrote_beside(item, &own, 1, None);
        let made = items.clone();
        assert!(matches!(items.written_since(item, &none), WrittenSince::StoreOnly));
        items.wrote_beside(item, &own, 2, Some(Arc::clone(&update)));
        items.wrote_beside(item, &own, 3, None);
        let second = Arc::new(Intent { id: other, ..Intent::clone(&update) });
        items.wrote_beside(item, &own, 4, Some(Arc::clone(&second)));
        let are_both = |since| match since {
            WrittenSince::Updates { first, last } => first.id == update.id && last.id == second.id,
            _ => false,
        };
        assert!(are_both(items.written_since(item, &none)) && are_both(items.written_since(item, &made)));
        assert!(matches!(items.written_since(item, &items), WrittenSince::StoreOnly));
        // Something of which nothing is told.
        items.wrote(item, &own, 5);
        assert!(matches!(items.written_since(item, &made), WrittenSince::NotKnown));
        let later = items.clone();
        for at in 6..6 + RECENT as i64 {
            items.wrote_beside(other, &own, at, None);
        }
        items.wrote_beside(item, &own, 1_000, None);
        assert!(matches!(items.written_since(item, &later), WrittenSince::StoreOnly));
        assert!(matches!(items.written_since(item, &none), WrittenSince::NotKnown));
    }
}

//! Values that many rows share, each kept once: ids of states and people, sets of assignees and labels.
//!
//! Pools only grow; [`super::rows::Rows`] rebuilds them when they hold many values that no row uses any more. Clones
//! share the values until one of them grows. May use: nothing of this crate.

use indexmap::IndexSet;
use std::sync::Arc;
use uuid::Uuid;

/// The pools of one index; a value's number is its position.
#[derive(Debug, Clone, Default)]
pub(super) struct Pools {
    ids: Arc<IndexSet<Uuid>>,
    sets: Arc<IndexSet<Arc<[Uuid]>>>,
    /// Number of members of all sets.
    members: usize,
}

impl Pools {
    /// Returns the pools with these values, in this order.
    pub fn of(ids: Vec<Uuid>, sets: Vec<Vec<Uuid>>) -> Self {
        let members = sets.iter().map(Vec::len).sum();
        let sets = Arc::new(sets.into_iter().map(Arc::from).collect());
        Self { ids: Arc::new(ids.into_iter().collect()), sets, members }
    }

    /// Returns the number of an id. A new id is added.
    pub fn id(&mut self, id: Uuid) -> u32 {
        let known = self.ids.get_index_of(&id);
        known.unwrap_or_else(|| Arc::make_mut(&mut self.ids).insert_full(id).0) as u32
    }

    /// Returns the number of a set. A new set is added. Sets with another order of members are different.
    pub fn set(&mut self, set: &[Uuid]) -> u32 {
        let number = self.sets.get_index_of(set).unwrap_or_else(|| {
            self.members += set.len();
            Arc::make_mut(&mut self.sets).insert_full(set.into()).0
        });
        number as u32
    }

    /// Returns the id with this number.
    pub fn id_at(&self, number: u32) -> Uuid {
        self.ids.get_index(number as usize).copied().unwrap_or_default()
    }

    /// Returns the set with this number.
    pub fn set_at(&self, number: u32) -> &[Uuid] {
        self.sets.get_index(number as usize).map_or(&[], |set| set)
    }

    /// Returns all ids, by number.
    pub fn ids(&self) -> &IndexSet<Uuid> {
        &self.ids
    }

    /// Returns all sets, by number.
    pub fn sets(&self) -> &IndexSet<Arc<[Uuid]>> {
        &self.sets
    }

    /// Returns the approximate number of bytes held.
    pub fn bytes(&self) -> usize {
        self.ids.capacity() * 40 + self.members * 16 + self.sets.len() * 56 + self.sets.capacity() * 16
    }
}

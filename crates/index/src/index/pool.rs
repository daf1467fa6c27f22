//! Values that many rows share, each kept once: ids of states and people, sets of assignees and labels.
//!
//! Pools only grow; [`super::rows::Rows`] is made anew when they hold much that no row uses any more. Clones
//! share the values until one of them grows. May use: nothing of this crate.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use uuid::Uuid;

/// Different values and their numbers.
#[derive(Debug, Clone)]
pub(super) struct Pool<T> {
    values: Vec<T>,
    numbers: HashMap<T, u32>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { values: Vec::new(), numbers: HashMap::new() }
    }
}

impl<T: Clone + Eq + Hash> Pool<T> {
    fn find<Q: Eq + Hash + ?Sized>(&self, value: &Q) -> Option<u32>
    where
        T: Borrow<Q>,
    {
        self.numbers.get(value).copied()
    }

    fn add(&mut self, value: T) -> u32 {
        let number = self.values.len() as u32;
        self.values.push(value.clone());
        self.numbers.insert(value, number);
        number
    }

    /// All values, by number.
    pub fn values(&self) -> &[T] {
        &self.values
    }
}

/// The pools of one index.
#[derive(Debug, Clone, Default)]
pub(super) struct Pools {
    ids: Arc<Pool<Uuid>>,
    sets: Arc<Pool<Arc<[Uuid]>>>,
    /// Members of all sets.
    members: usize,
}

impl Pools {
    /// The pools with these values, in this order.
    pub fn of(ids: Vec<Uuid>, sets: Vec<Vec<Uuid>>) -> Self {
        let (mut id_pool, mut set_pool) = (Pool::default(), Pool::default());
        for id in ids {
            id_pool.add(id);
        }
        for set in sets {
            set_pool.add(set.into());
        }
        let members = set_pool.values.iter().map(|set: &Arc<[Uuid]>| set.len()).sum();
        Self { ids: Arc::new(id_pool), sets: Arc::new(set_pool), members }
    }

    /// Number of an id, new or known.
    pub fn id(&mut self, id: Uuid) -> u32 {
        self.ids.find(&id).unwrap_or_else(|| Arc::make_mut(&mut self.ids).add(id))
    }

    /// Number of a set, new or known; the order of its members is part of it.
    pub fn set(&mut self, set: &[Uuid]) -> u32 {
        self.sets.find(set).unwrap_or_else(|| {
            self.members += set.len();
            Arc::make_mut(&mut self.sets).add(set.into())
        })
    }

    /// The id with this number.
    pub fn id_at(&self, number: u32) -> Uuid {
        self.ids.values.get(number as usize).copied().unwrap_or_default()
    }

    /// The set with this number.
    pub fn set_at(&self, number: u32) -> &[Uuid] {
        self.sets.values.get(number as usize).map_or(&[], |set| set)
    }

    /// All ids, by number.
    pub fn ids(&self) -> &[Uuid] {
        self.ids.values()
    }

    /// All sets, by number.
    pub fn sets(&self) -> &[Arc<[Uuid]>] {
        self.sets.values()
    }

    /// Bytes held, about.
    pub fn bytes(&self) -> usize {
        let (ids, sets) = (&self.ids, &self.sets.values);
        let sets = self.members * 16 + sets.len() * 56 + sets.capacity() * 16;
        ids.values.capacity() * 16 + ids.numbers.capacity() * 24 + sets
    }
}

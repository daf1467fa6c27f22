//! The rows of one project, found by id and in every order that lists have.
//!
//! Rows are in slots, and slots in chunks. Versions share chunks until a change touches them. Orders, which are lists
//! of slots, are shared in the same way. A clone copies a few pointers; a change rebuilds only the chunks that it
//! touches. So requests under way keep the version they began with, and no two whole copies exist.
//!
//! May use: `plan` (columns), `translate` (the typed item), this folder.

use super::chunk::Chunk;
use super::chunks::Chunks;
use super::moves::Moves;
use super::order::Order;
use super::orders::{Change, Orders};
use super::pool::Pools;
use super::row::Row;
use super::sorted::Sorted;
use crate::plan::Column;
use crate::translate::work_items::Item;
use std::collections::HashSet;
use std::sync::Arc;
use uuid::Uuid;

/// Number of values that the pools may hold beyond four for each row, before they are rebuilt.
const SLACK: usize = 4096;

/// All rows of a project.
#[derive(Debug, Clone, Default)]
pub(super) struct Rows {
    slots: Chunks,
    by_id: Arc<Sorted>,
    orders: Orders,
    pools: Pools,
}

impl Rows {
    /// Builds rows from kept chunks and pools.
    pub fn of(chunks: Vec<Arc<Chunk>>, pools: Pools) -> Self {
        let slots = Chunks::of(chunks);
        let mut by_id: Vec<(Uuid, u32)> = slots.iter().map(|(_, row)| row.id).zip(0..).collect();
        by_id.sort_unstable();
        let by_id: Vec<u32> = by_id.into_iter().map(|(_, slot)| slot).collect();
        Self { slots, by_id: Arc::new(Sorted::of(&by_id)), orders: Orders::default(), pools }
    }

    pub fn len(&self) -> usize {
        self.slots.len()
    }

    pub fn chunks(&self) -> &[Arc<Chunk>] {
        self.slots.list()
    }

    pub fn pools(&self) -> &Pools {
        &self.pools
    }

    /// Returns the approximate number of bytes held when every order exists.
    pub fn bytes(&self) -> usize {
        self.pools.bytes() + self.slots.bytes() + self.by_id.bytes() + Orders::most_bytes(self.len())
    }

    /// Returns the row in a slot, with its chunk; there are as many slots as rows.
    pub fn at(&self, slot: u32) -> (&Chunk, &Row) {
        self.slots.at(slot)
    }

    pub fn slot(&self, id: Uuid) -> Option<u32> {
        let rank = self.by_id.seek(|slot| self.at(slot).1.id < id);
        let slot = (rank < self.len()).then(|| self.by_id.at(rank))?;
        (self.at(slot).1.id == id).then_some(slot)
    }

    /// Returns the row of an id, with its chunk.
    pub fn find(&self, id: Uuid) -> Option<(&Chunk, &Row)> {
        self.slot(id).map(|slot| self.at(slot))
    }

    /// Returns the item in a slot.
    pub fn item(&self, slot: u32) -> Item {
        let (chunk, row) = self.at(slot);
        row.item(chunk.name(row), &self.pools)
    }

    /// Returns all rows by slot, with their chunks.
    pub fn iter(&self) -> impl Iterator<Item = (&Chunk, &Row)> {
        self.slots.iter()
    }

    /// Returns all items, by id.
    pub fn items(&self) -> impl Iterator<Item = Item> {
        self.by_id.upwards(0).map(|slot| self.item(slot))
    }

    /// Returns all slots in an order. The first use sorts them.
    pub fn sorted(&self, order: &Order) -> Arc<Sorted> {
        self.orders.get(order, &self.slots, &self.by_id).unwrap_or_else(|| Arc::clone(&self.by_id))
    }

    /// Returns all slots in an order, if no sorting is needed.
    pub fn ready(&self, order: &Order) -> Option<Arc<Sorted>> {
        if order.column() == Column::Id { Some(Arc::clone(&self.by_id)) } else { self.orders.ready(order) }
    }

    /// Adds `items`, which replace rows with the same ids, and drops the rows of `gone`.
    pub fn apply(&mut self, items: Vec<Item>, gone: &HashSet<Uuid>) {
        let moves = Moves::of(items, gone, self.len(), |id| self.slot(id));
        if moves.is_empty() {
            return;
        }
        let before = self.slots.clone();
        self.slots.apply(&moves, &mut self.pools);
        let mut arrived: Vec<u32> = moves.arrived().collect();
        arrived.sort_unstable();
        let change = Change { before: &before, after: &self.slots, left: &moves.left, arrived: &arrived };
        self.by_id = Arc::new(change.patched(&self.by_id, &Order::by(Column::Id)));
        self.orders.follow(&change);
        self.tidy();
    }

    /// Rebuilds the pools when they hold many values that are not used.
    fn tidy(&mut self) {
        if self.pools.ids().len() + self.pools.sets().len() <= 4 * self.len() + SLACK {
            return;
        }
        let old = std::mem::take(&mut self.pools);
        self.slots = self.slots.repooled(&old, &mut self.pools);
        self.orders.states_were_renumbered();
    }
}

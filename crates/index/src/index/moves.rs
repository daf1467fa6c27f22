//! What a change does to the slots: rows written, rows moved into gaps, rows that are gone.
//!
//! Slots stay without gaps: rows that come take the places of rows that go; when more go, rows from the end move into
//! the gaps. May use: `translate` (the typed item).

use crate::translate::work_items::Item;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use uuid::Uuid;

/// What a change does to the slots.
pub(super) struct Moves {
    /// Items to be written, by slot.
    put: BTreeMap<u32, Item>,
    /// Rows that move: to a slot, from another.
    moved: BTreeMap<u32, u32>,
    /// Slots whose row is not there as it was, in order.
    pub left: Vec<u32>,
    /// Rows there are then.
    pub len: usize,
}

/// What a slot has after a change.
pub(super) enum Then<'m> {
    /// A new row.
    Item(&'m Item),
    /// The row that this slot had.
    Row(u32),
}

impl Moves {
    /// Takes `items` in, replacing rows with the same ids, and drops the rows of `gone`, of `len` rows that
    /// `find` knows.
    pub fn of(items: Vec<Item>, gone: &HashSet<Uuid>, len: usize, find: impl Fn(Uuid) -> Option<u32>) -> Self {
        let mut changes: BTreeMap<Uuid, Option<Item>> = gone.iter().map(|id| (*id, None)).collect();
        changes.extend(items.into_iter().map(|item| (item.id, Some(item))));
        let (mut put, mut gaps, mut new) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
        for (id, item) in changes {
            match (find(id), item) {
                (Some(slot), Some(item)) => drop(put.insert(slot, item)),
                (Some(slot), None) => drop(gaps.insert(slot)),
                (None, Some(item)) => new.push(item),
                (None, None) => {}
            }
        }
        let left = put.keys().chain(&gaps).copied().collect();
        let mut moves = Self { put, moved: BTreeMap::new(), left, len };
        // Lists are mostly walked by creation, and neighbours are near each other then.
        new.sort_by_key(|item| item.created_at);
        for item in new {
            let slot = gaps.pop_first().unwrap_or(moves.len as u32);
            moves.len = moves.len.max(slot as usize + 1);
            moves.put.insert(slot, item);
        }
        moves.close(gaps);
        moves.left.sort_unstable();
        moves
    }

    /// Rows from the end move into the gaps.
    fn close(&mut self, mut gaps: BTreeSet<u32>) {
        while let Some(gap) = gaps.first().copied() {
            self.len -= 1;
            let last = self.len as u32;
            if gaps.remove(&last) {
                continue;
            }
            gaps.remove(&gap);
            if let Some(item) = self.put.remove(&last) {
                self.put.insert(gap, item);
            } else {
                self.moved.insert(gap, last);
                self.left.push(last);
            }
        }
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.left.is_empty() && self.put.is_empty()
    }

    /// Slots with another row than before.
    pub fn arrived(&self) -> impl Iterator<Item = u32> {
        self.put.keys().chain(self.moved.keys()).copied()
    }

    /// What a slot has then.
    pub fn then(&self, slot: u32) -> Then<'_> {
        let moved = || Then::Row(self.moved.get(&slot).copied().unwrap_or(slot));
        self.put.get(&slot).map_or_else(moved, Then::Item)
    }
}

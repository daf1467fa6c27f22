//! Effect of a change on the slots: written rows, rows moved into gaps, and removed rows.
//!
//! Slots stay without gaps. New rows take the places of removed rows. When more rows are removed, rows from the end
//! move into the gaps. May use: `translate` (the typed item).

use crate::translate::work_items::Item;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use uuid::Uuid;

/// Effect of a change on the slots.
pub(super) struct Moves {
    /// Items to be written, by slot.
    put: BTreeMap<u32, Item>,
    /// Moved rows: the new slot, and the old slot.
    moved: BTreeMap<u32, u32>,
    /// Slots whose row was changed, moved or removed, in order.
    pub left: Vec<u32>,
    /// Number of rows after the change.
    pub len: usize,
}

/// Content of a slot after a change.
pub(super) enum SlotChange<'m> {
    /// A new row.
    Item(&'m Item),
    /// The row that had this slot before the change.
    Row(u32),
}

impl Moves {
    /// Plans a change of `len` rows, which `find` finds. It adds `items`, which replace rows with the same ids, and
    /// drops the rows of `gone`.
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
        // Lists are mostly read by creation time. In this order, neighbours of such a list are stored near each other.
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

    /// Moves rows from the end into the gaps.
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

    /// Checks whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.left.is_empty() && self.put.is_empty()
    }

    /// Slots that have another row than before.
    pub fn arrived(&self) -> impl Iterator<Item = u32> {
        self.put.keys().chain(self.moved.keys()).copied()
    }

    /// Returns the content of a slot after the change.
    pub fn then(&self, slot: u32) -> SlotChange<'_> {
        let moved = || SlotChange::Row(self.moved.get(&slot).copied().unwrap_or(slot));
        self.put.get(&slot).map_or_else(moved, SlotChange::Item)
    }
}

//! The orders of one version of the rows. Each is built at its first use and carried over by every change.
//!
//! Building an order sorts all rows; carrying it over moves the few rows that a change touches. An order that a version
//! does not have when it is replaced is built by the next version that needs it. May use: `plan` (columns), this
//! folder.

use super::chunks::Chunks;
use super::order::Order;
use super::sorted::Sorted;
use crate::plan::Column;
use parking_lot::Mutex;
use std::sync::{Arc, OnceLock};

/// The columns of a row that have an order of their own. The order by id always exists.
const COLUMNS: [Column; 5] =
    [Column::CreatedAt, Column::UpdatedAt, Column::SequenceId, Column::SortOrder, Column::Priority];

/// Bytes that one row takes in all orders, with full runs.
const BYTES: usize = 4 * (COLUMNS.len() + 1) + 1;

/// The orders that exist, beside the order by id.
#[derive(Debug, Default)]
pub(super) struct Orders {
    by_column: [OnceLock<Arc<Sorted>>; COLUMNS.len()],
    /// The order by the group of the state, for the last mapping that was used. The group is not a value of the row.
    by_group: Mutex<Option<(Order, Arc<Sorted>)>>,
}

impl Clone for Orders {
    fn clone(&self) -> Self {
        Self { by_column: self.by_column.clone(), by_group: Mutex::new(self.by_group.lock().clone()) }
    }
}

impl Orders {
    /// Bytes of all orders of `rows` rows when all exist. A version is weighed before they exist.
    pub fn most_bytes(rows: usize) -> usize {
        rows * BYTES
    }

    /// Returns the slots in an order, if the order exists.
    pub fn ready(&self, order: &Order) -> Option<Arc<Sorted>> {
        if order.column() == Column::StateGroup {
            let by_group = self.by_group.lock();
            return by_group
                .as_ref()
                .filter(|(known, _)| known.is_same(order))
                .map(|(_, sorted)| Arc::clone(sorted));
        }
        self.cell(order)?.get().map(Arc::clone)
    }

    /// Returns the slots in an order; none for the order by id.
    pub fn get(&self, order: &Order, chunks: &Chunks, by_id: &Sorted) -> Option<Arc<Sorted>> {
        if order.column() == Column::StateGroup {
            return Some(self.ready(order).unwrap_or_else(|| {
                let sorted = Arc::new(sorted(order, chunks, by_id));
                *self.by_group.lock() = Some((order.clone(), Arc::clone(&sorted)));
                sorted
            }));
        }
        let made = || Arc::new(sorted(order, chunks, by_id));
        self.cell(order).map(|cell| Arc::clone(cell.get_or_init(made)))
    }

    fn cell(&self, order: &Order) -> Option<&OnceLock<Arc<Sorted>>> {
        COLUMNS.iter().position(|column| *column == order.column()).map(|at| &self.by_column[at])
    }

    /// Carries the orders over a change, or drops them when sorting again is less work.
    pub fn follow(&mut self, change: &Change<'_>) {
        let is_small = change.is_small();
        let carry = |order: &Order, sorted: Arc<Sorted>| is_small.then(|| Arc::new(change.patched(&sorted, order)));
        for (column, cell) in COLUMNS.into_iter().zip(&mut self.by_column) {
            let carried = cell.take().and_then(|sorted| carry(&Order::by(column), sorted));
            *cell = carried.map_or_else(OnceLock::new, OnceLock::from);
        }
        let by_group = self.by_group.get_mut();
        *by_group = by_group.take().and_then(|(order, sorted)| Some((order.clone(), carry(&order, sorted)?)));
    }

    /// Drops the order by group, because states have new numbers.
    pub fn states_were_renumbered(&mut self) {
        *self.by_group.get_mut() = None;
    }
}

/// Sorts all slots in an order; ties are ordered by id.
fn sorted(order: &Order, chunks: &Chunks, by_id: &Sorted) -> Sorted {
    let ids: Vec<u32> = by_id.upwards(0).collect();
    let mut ranks = vec![0_u32; ids.len()];
    for (rank, slot) in ids.iter().enumerate() {
        ranks[*slot as usize] = rank as u32;
    }
    let mut places: Vec<(u64, u32)> =
        chunks.iter().zip(ranks).map(|((_, row), rank)| (order.key(row), rank)).collect();
    places.sort_unstable();
    let slots: Vec<u32> = places.into_iter().map(|(_, rank)| ids[rank as usize]).collect();
    Sorted::of(&slots)
}

/// A change of rows, with the parts that orders need.
pub(super) struct Change<'c> {
    pub before: &'c Chunks,
    pub after: &'c Chunks,
    /// Slots whose row was changed, moved or removed, in order.
    pub left: &'c [u32],
    /// Slots that have another row than before, in order.
    pub arrived: &'c [u32],
}

impl Change<'_> {
    /// Checks whether few rows change, so that moving them is less work than sorting all.
    fn is_small(&self) -> bool {
        (self.left.len() + self.arrived.len()) * 8 <= self.before.len()
    }

    /// Returns the slots in `order` after the change; `sorted` are the slots in this order before it.
    pub fn patched(&self, sorted: &Sorted, order: &Order) -> Sorted {
        let before = |slot: u32| order.place(self.before.at(slot).1);
        let after = |slot: u32| order.place(self.after.at(slot).1);
        let stays =
            |slot: &u32, others: &[u32]| others.binary_search(slot).is_ok() && before(*slot) == after(*slot);
        let gone = self.left.iter().filter(|slot| !stays(slot, self.arrived)).map(|slot| before(*slot));
        let mut gone: Vec<usize> = gone.map(|place| sorted.seek(|slot| before(slot) < place)).collect();
        gone.sort_unstable();
        let come = self.arrived.iter().filter(|slot| !stays(slot, self.left)).map(|slot| (after(*slot), *slot));
        let mut come: Vec<_> = come.collect();
        come.sort_unstable();
        let rank = |(place, new)| (sorted.seek(|slot| before(slot) < place), new);
        sorted.patched(&gone, &come.into_iter().map(rank).collect::<Vec<_>>())
    }
}

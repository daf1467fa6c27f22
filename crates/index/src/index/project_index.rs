//! The index of one project, and its answers to lists. May use: `plan`, `translate`, `v2`, this folder.

use super::build;
use super::known::RowsFromV1;
use super::local_write::LocalWrite;
use super::lookups::Lookups;
use super::order::{self, Order};
use super::row;
use super::select::{self, Selection};
use super::verified::Verified;
use super::view::View;
use crate::plan::Column;
use crate::translate::work_items::Item;
use crate::v2::query::ListCall;
use crate::v2::record::Cell;
use crate::v2::time::Micros;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};
use uuid::Uuid;

/// The work items of one project as v1 showed them at one time. Never changes; a newer index replaces it.
#[derive(Debug)]
pub struct Index {
    pub(super) verified: Verified,
    pub(super) scan: bool,
    /// The rows that v1 showed, without later local writes; kept where processes share their reads.
    pub(super) shown: Option<RowsFromV1>,
    /// The states that items are in, each with one of these items; computed at the first use.
    pub(super) in_states: OnceLock<Vec<(Uuid, Uuid)>>,
    /// The labels that items have; computed at the first use.
    pub(super) on_items: OnceLock<HashSet<Uuid>>,
}

impl Index {
    pub(super) fn new(verified: Verified) -> Self {
        Self { verified, scan: false, shown: None, in_states: OnceLock::new(), on_items: OnceLock::new() }
    }

    /// Replaces the index by one that shows a local write. Returns whether the write makes a difference.
    pub(super) fn amend(this: &mut Arc<Self>, local: &LocalWrite) -> bool {
        let mut verified = this.verified.clone();
        let differs = local.clone().apply(&mut verified.rows);
        if differs {
            *this = Arc::new(Self { scan: this.scan, shown: this.shown.clone(), ..Self::new(verified) });
        }
        differs
    }

    /// Builds an index of these items, page by page. Nothing keeps it fresh.
    pub fn of(items: impl IntoIterator<Item = Item>) -> Self {
        let (mut verified, mut items) = (Verified::default(), items.into_iter().peekable());
        while items.peek().is_some() {
            verified.rows.apply(items.by_ref().take(build::SIZES.page).collect(), &HashSet::new());
        }
        Self::new(verified)
    }

    /// Returns the index after these items were written.
    pub fn with(&self, items: Vec<Item>) -> Self {
        let mut verified = self.verified.clone();
        verified.rows.apply(items, &HashSet::new());
        Self { scan: self.scan, ..Self::new(verified) }
    }

    /// Returns the instant, by v1's clock, up to which all changes are in the index.
    pub fn known_until(&self) -> Micros {
        self.verified.floor
    }

    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.verified.rows.len()
    }

    /// Checks whether the project has no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the approximate number of bytes held.
    pub fn bytes(&self) -> usize {
        self.verified.rows.bytes()
    }

    /// Checks whether the project is too large to be kept. The index was then read for one request and is dropped after
    /// it.
    pub fn is_scan(&self) -> bool {
        self.scan
    }

    /// Returns the item with this id.
    pub fn get(&self, id: Uuid) -> Option<Item> {
        let rows = &self.verified.rows;
        rows.slot(id).map(|slot| rows.item(slot))
    }

    /// Returns the items with this number, by id. There may be several, because v1 allows clients to write numbers
    /// (trap 18).
    pub fn by_sequence(&self, number: i64) -> Vec<Item> {
        let rows = &self.verified.rows;
        let order = Order::by(Column::SequenceId);
        let Some(sorted) = rows.ready(&order) else { return self.matching(|row| row.sequence == number) };
        let row = |slot: u32| rows.at(slot).1;
        // Different numbers may have the same place when they are very large.
        let (key, begin) =
            (order::number(number), sorted.seek(|slot| order.key(row(slot)) < order::number(number)));
        let found = sorted.upwards(begin).take_while(|slot| order.key(row(*slot)) == key);
        found.filter(|slot| row(*slot).sequence == number).map(|slot| rows.item(slot)).collect()
    }

    /// Returns the items with these numbers, by number; each row is looked at once.
    pub fn by_sequences(&self, numbers: &HashSet<i64>) -> HashMap<i64, Vec<Item>> {
        let mut found: HashMap<i64, Vec<Item>> = HashMap::new();
        for item in self.matching(|row| numbers.contains(&row.sequence)) {
            found.entry(item.sequence_id).or_default().push(item);
        }
        found
    }

    /// Returns the items whose parent is `id`, by id.
    pub fn children(&self, id: Uuid) -> Vec<Item> {
        self.matching(|row| row.parent() == Some(id))
    }

    /// Returns the states that items are in and that are not in `known`, each with one of its items. Items without a
    /// state are left out.
    pub fn in_other_states(&self, known: &HashMap<Uuid, u8>) -> Vec<(Uuid, Uuid)> {
        let all = self.in_states.get_or_init(|| self.find_states());
        all.iter().copied().filter(|(state, _)| !known.contains_key(state)).collect()
    }

    /// Looks at every item; therefore done once for each index, not once for each of its pages.
    fn find_states(&self) -> Vec<(Uuid, Uuid)> {
        let rows = &self.verified.rows;
        let mut by_number: Vec<Option<Uuid>> = Vec::new();
        for (_, row) in rows.iter() {
            let number = row.state as usize;
            if by_number.len() <= number {
                by_number.resize(number + 1, None);
            }
            by_number[number].get_or_insert(row.id);
        }
        let found =
            by_number.into_iter().zip(0..).filter_map(|(item, number)| Some((rows.pools().id_at(number), item?)));
        found.filter(|(state, _)| !state.is_nil()).collect()
    }

    /// Returns the labels that items have, deleted ones included.
    pub fn labels(&self) -> &HashSet<Uuid> {
        self.on_items.get_or_init(|| {
            let rows = &self.verified.rows;
            let sets: HashSet<u32> = rows.iter().map(|(_, row)| row.labels).collect();
            sets.into_iter().flat_map(|set| rows.pools().set_at(set)).copied().collect()
        })
    }

    /// Returns all items, by id.
    pub fn items(&self) -> impl Iterator<Item = Item> {
        self.verified.rows.items()
    }

    /// Selects the page that `call` asks for; `columns` are the columns of its cells.
    pub fn select(&self, call: &ListCall, columns: &[Column], lookups: &Lookups) -> Selection {
        let selected = select::select(&self.verified.rows, call, columns, lookups);
        tracing::trace!(rows = self.len(), looked_at = selected.looked_at, "a page of work items was selected");
        selected.selection
    }

    /// Returns the largest number of rows that [`Index::select`] looks at.
    pub fn effort(&self, call: &ListCall, columns: &[Column], lookups: &Lookups) -> usize {
        select::effort(&self.verified.rows, call, columns, lookups)
    }

    /// Returns the value of an item in a column that needs no lookup.
    pub fn value(&self, id: Uuid, column: Column) -> Option<Cell> {
        let rows = &self.verified.rows;
        let view = View { pools: rows.pools(), lookups: &Lookups::default() };
        rows.find(id).map(|(chunk, row)| view.cell(column, chunk, row))
    }

    fn matching(&self, wanted: impl Fn(&row::Row) -> bool) -> Vec<Item> {
        let rows = &self.verified.rows;
        let found = rows.iter().filter(move |(_, row)| wanted(row));
        let mut items: Vec<Item> = found.map(|(chunk, row)| row.item(chunk.name(row), rows.pools())).collect();
        items.sort_by_key(|item| item.id);
        items
    }
}

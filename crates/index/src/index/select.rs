//! Selection of the page that a list call asks for, from all rows.
//!
//! Without a filter the page is cut out of its order. With a filter, either the order is walked until the page is full;
//! or, when the total is requested or few rows pass, all chunks are filtered and the page is found among the passing
//! rows. The meaning is that of `v2::page`. May use: `plan` (columns), `translate`, `v2` (calls), this folder.

use super::bits::Bits;
use super::filter::Filter;
use super::lookups::Lookups;
use super::order::{Order, Place, place_of};
use super::rows::Rows;
use super::sorted::Sorted;
use super::view::View;
use crate::plan::Column;
use crate::translate::work_items::Item;
use crate::v2::cursor::Cursor;
use crate::v2::query::{ListCall, PageCall};
use std::cmp::Reverse;
use std::ops::{ControlFlow, Range};

/// Number of rows up to which all are filtered, whatever the call asks.
const FEW: usize = 1024;
/// Divisor of the number of rows: when this share of all rows was walked, filtering all is taken to be less work.
const PART: usize = 16;

/// The page of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    /// Rows of the page, in order, with live labels only.
    pub rows: Vec<Item>,
    /// Number of matching rows on all pages. When the call does not ask for it, this is a lower bound: at least as many
    /// rows match. It is then larger than the number of rows up to the end of the page if any rows follow.
    pub total: usize,
    /// Number of matching rows before the page: the requested offset, or 0 on the cursor path.
    pub start: usize,
    /// Whether matching rows follow.
    pub has_more: bool,
    /// Where the next cursor page continues; none on the last page and on offset pages.
    pub next: Option<Cursor>,
}

/// A selection, and its effort.
pub(super) struct Selected {
    pub selection: Selection,
    /// Rows that were looked at.
    pub looked_at: usize,
}

/// Selects the page of `call`.
pub(super) fn select(rows: &Rows, call: &ListCall, columns: &[Column], lookups: &Lookups) -> Selected {
    let view = View { pools: rows.pools(), lookups };
    let looking = PreparedCall::of(rows, call, columns, view);
    let found = looking.find();
    let last = found.page.last().filter(|_| found.has_more);
    let selection = Selection {
        total: found.total,
        start: looking.skipped,
        has_more: found.has_more,
        next: last.and_then(|last| position_of(rows, *last, call, columns, view)),
        rows: found.page.iter().map(|slot| live(rows.item(*slot), view)).collect(),
    };
    Selected { selection, looked_at: found.looked_at }
}

/// Returns the largest number of rows that [`select`] looks at.
pub(super) fn effort(rows: &Rows, call: &ListCall, columns: &[Column], lookups: &Lookups) -> usize {
    let is_filtered = !call.conditions.is_empty() || call.search.is_some();
    let order = Order::of(columns[call.order.cell], View { pools: rows.pools(), lookups });
    if is_filtered || rows.ready(&order).is_none() {
        return rows.len();
    }
    call.page.per_page().min(rows.len())
}

/// A call prepared for the selection.
struct PreparedCall<'s> {
    rows: &'s Rows,
    filter: Filter<'s>,
    order: Order,
    descending: bool,
    /// The place after which the page begins.
    after: Option<Place>,
    /// Matching rows before the page.
    skipped: usize,
    per_page: usize,
    /// Whether the total is requested.
    counts: bool,
}

/// Result of a selection, by slots.
struct SelectedSlots {
    /// The rows of the page, in order.
    page: Vec<u32>,
    has_more: bool,
    total: usize,
    looked_at: usize,
}

impl<'s> PreparedCall<'s> {
    fn of(rows: &'s Rows, call: &'s ListCall, columns: &[Column], view: View<'s>) -> Self {
        let (skipped, per_page) = (call.page.offset(), call.page.per_page());
        let after = match &call.page {
            PageCall::Cursor { after: Some(cursor), .. } => Some(place_of(cursor, &call.order.field)),
            _ => None,
        };
        let counts = matches!(call.page, PageCall::Offset { count: true, .. });
        let filter = Filter::of(call, columns, rows, view);
        let order = Order::of(columns[call.order.cell], view);
        Self { rows, filter, order, descending: call.order.descending, after, skipped, per_page, counts }
    }

    fn find(&self) -> SelectedSlots {
        if self.filter.is_empty() {
            return self.cut();
        }
        let rows = self.rows.len();
        let walks = !self.counts && rows > FEW && self.filter.most().saturating_mul(PART) > rows;
        match if walks { self.walk() } else { Err(0) } {
            Ok(found) => found,
            Err(walked) => self.filter_all(walked),
        }
    }

    fn place(&self, slot: u32) -> Place {
        self.order.place(self.rows.at(slot).1)
    }

    /// Returns the number of matching rows up to the end of the page.
    fn end(&self) -> usize {
        self.skipped.saturating_add(self.per_page)
    }

    /// Rank where the rows after the cursor begin: the rank of the first one, or one above it when descending.
    fn begin(&self, sorted: &Sorted) -> usize {
        match (self.after, self.descending) {
            (None, false) => 0,
            (None, true) => sorted.len(),
            (Some(after), false) => sorted.seek(|slot| self.place(slot) <= after),
            (Some(after), true) => sorted.seek(|slot| self.place(slot) < after),
        }
    }

    /// Visits slots in order from `rank` on, until `visit` breaks.
    fn along(&self, sorted: &Sorted, rank: usize, mut visit: impl FnMut(u32) -> ControlFlow<()>) {
        let _ = match self.descending {
            false => sorted.upwards(rank).try_for_each(&mut visit),
            true => sorted.downwards(rank).try_for_each(&mut visit),
        };
    }

    /// Cuts the page out of the order, when every row passes.
    fn cut(&self) -> SelectedSlots {
        let sorted = self.rows.sorted(&self.order);
        let begin = self.begin(&sorted);
        let follow = if self.descending { begin } else { sorted.len() - begin };
        let skipped = self.skipped.min(follow);
        let rank = if self.descending { begin - skipped } else { begin + skipped };
        let size = self.per_page.min(follow - skipped);
        let mut page = Vec::with_capacity(size);
        self.along(&sorted, rank, |slot| {
            if page.len() < size {
                page.push(slot);
            }
            if page.len() < size { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        SelectedSlots { looked_at: page.len(), has_more: follow > skipped + size, page, total: sorted.len() }
    }

    /// Walks along the order until the page is full. When it gives up, returns the number of rows it has looked at.
    fn walk(&self) -> Result<SelectedSlots, usize> {
        let sorted = self.rows.sorted(&self.order);
        let passes = |slot| self.filter.passes(slot, self.rows.at(slot).0);
        let (found, gave_up) = self.fill(&sorted, sorted.len() / PART, passes);
        if gave_up { Err(found.looked_at) } else { Ok(found) }
    }

    /// Walks along the order until the page is full of slots that pass. Returns true if it gave up after `most` rows.
    fn fill(&self, sorted: &Sorted, most: usize, passes: impl Fn(u32) -> bool) -> (SelectedSlots, bool) {
        let (mut page, mut passed, mut looked_at, mut gave_up) = (Vec::new(), 0, 0, false);
        self.along(sorted, self.begin(sorted), |slot| {
            if looked_at == most {
                gave_up = true;
                return ControlFlow::Break(());
            }
            looked_at += 1;
            if passes(slot) {
                passed += 1;
                if (self.skipped + 1..=self.end()).contains(&passed) {
                    page.push(slot);
                }
            }
            if passed > self.end() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        (SelectedSlots { page, has_more: passed > self.end(), total: passed, looked_at }, gave_up)
    }

    /// Filters all chunks and takes the page from the passing rows.
    fn filter_all(&self, walked: usize) -> SelectedSlots {
        let mut passing = Bits::none(self.rows.len());
        for (number, chunk) in self.rows.chunks().iter().enumerate() {
            passing.set(number, &self.filter.mask(number, chunk));
        }
        let looked_at = walked + self.rows.len();
        let found = match self.sorted_for(&passing) {
            Some(sorted) => self.pick(&sorted, &passing),
            None => self.part(&passing),
        };
        SelectedSlots { looked_at: looked_at + found.looked_at, ..found }
    }

    /// Returns the order, if walking along it is less work than sorting the passing rows.
    fn sorted_for(&self, passing: &Bits) -> Option<std::sync::Arc<Sorted>> {
        let (rows, passing) = (self.rows.len(), passing.count());
        match self.rows.ready(&self.order) {
            // A step along the order costs only a fraction of sorting one row.
            Some(sorted) => {
                let steps = rows.min((rows / passing.max(1)).saturating_mul(self.end()));
                (steps < passing.saturating_mul(PART)).then_some(sorted)
            }
            None => (rows > FEW && passing > rows / 8).then(|| self.rows.sorted(&self.order)),
        }
    }

    /// Finds the page of the passing rows by walking along the order.
    fn pick(&self, sorted: &Sorted, passing: &Bits) -> SelectedSlots {
        let (found, _) = self.fill(sorted, usize::MAX, |slot| passing.has(slot));
        SelectedSlots { total: passing.count(), ..found }
    }

    /// Finds the page of the passing rows by sorting as many of them as needed.
    fn part(&self, passing: &Bits) -> SelectedSlots {
        let place = |slot: u32| (self.place(slot), slot);
        let follows = |(place, _): &(Place, u32)| {
            self.after.is_none_or(|after| if self.descending { *place < after } else { *place > after })
        };
        let mut places: Vec<(Place, u32)> = passing.slots().map(place).filter(follows).collect();
        let end = self.end().min(places.len());
        let has_more = places.len() > end;
        let range = self.skipped.min(end)..end;
        let page = match self.descending {
            true => part(&mut places, range, |place| Reverse(*place)),
            false => part(&mut places, range, |place| *place),
        };
        let page = page.iter().map(|(_, slot)| *slot).collect();
        SelectedSlots { page, has_more, total: passing.count(), looked_at: passing.count() }
    }
}

/// Returns the places of `range` in order; the other places are not sorted.
fn part<K: Ord>(
    places: &mut [(Place, u32)],
    range: Range<usize>,
    key: impl Fn(&(Place, u32)) -> K,
) -> &[(Place, u32)] {
    if range.is_empty() {
        return &[];
    }
    if range.end < places.len() {
        places.select_nth_unstable_by_key(range.end, &key);
    }
    let places = &mut places[..range.end];
    if range.start > 0 {
        places.select_nth_unstable_by_key(range.start, &key);
    }
    let places = &mut places[range.start..];
    places.sort_unstable_by_key(&key);
    places
}

fn position_of(rows: &Rows, slot: u32, call: &ListCall, columns: &[Column], view: View<'_>) -> Option<Cursor> {
    let PageCall::Cursor { keys, .. } = &call.page else { return None };
    let (chunk, row) = rows.at(slot);
    let keys = keys.iter().map(|(name, cell)| (name.clone(), view.cell(columns[*cell], chunk, row)));
    Some(Cursor { id: row.id, keys: keys.collect() })
}

fn live(mut item: Item, view: View<'_>) -> Item {
    if let std::borrow::Cow::Owned(labels) = view.live(&item.labels) {
        item.labels = labels;
    }
    item
}

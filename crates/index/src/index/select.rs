//! From all rows to the page a list call asks for.
//!
//! One pass finds the matching rows and their keys, a partial selection finds the page among them, and only
//! its rows become items. The meaning is that of `v2::page`. May use: `plan` (columns), `translate`,
//! `v2` (calls), this folder.

use super::filter::Filter;
use super::lookups::Lookups;
use super::order::{After, Order, Place};
use super::rows::Rows;
use super::view::View;
use crate::plan::Column;
use crate::translate::work_items::Item;
use crate::v2::cursor::Cursor;
use crate::v2::query::{ListCall, PageCall};
use std::cmp::Reverse;
use std::ops::Range;

/// The page of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    /// Its rows, in order, with live labels only.
    pub rows: Vec<Item>,
    /// Rows that match, on all pages.
    pub total: usize,
    /// Matching rows before the page: the offset asked for, or 0 on the cursor path.
    pub start: usize,
    /// Whether matching rows follow.
    pub has_more: bool,
    /// Where the next cursor page continues; none on the last one and on offset pages.
    pub next: Option<Cursor>,
}

/// Selects the page of `call`.
pub(super) fn select(rows: &Rows, call: &ListCall, columns: &[Column], lookups: &Lookups) -> Selection {
    let view = View { pools: rows.pools(), lookups };
    let filter = Filter::of(call, columns, rows, view);
    let order = Order::of(columns[call.order.cell], view);
    let (start, per_page) = (call.page.offset(), call.page.per_page());
    let after = match &call.page {
        PageCall::Cursor { after: Some(cursor), .. } => Some(After::of(cursor, &call.order.field, rows)),
        _ => None,
    };
    let (mut total, mut places, mut position) = (0, Vec::new(), 0);
    for (chunk, row) in rows.iter() {
        if filter.passes(position, chunk, row) {
            total += 1;
            let place = (order.key(row), position as u32);
            if after.as_ref().is_none_or(|after| after.is_before(place, call.order.descending)) {
                places.push(place);
            }
        }
        position += 1;
    }
    let end = start.saturating_add(per_page).min(places.len());
    let has_more = places.len() > end;
    let page = page(&mut places, start.min(end)..end, call.order.descending);
    let next = page.last().filter(|_| has_more).and_then(|last| position_of(rows, *last, call, columns, view));
    let items = page.iter().map(|place| live(rows.item_at(place.1 as usize), view)).collect();
    Selection { rows: items, total, start, has_more, next }
}

/// The places of `range` in order; the rest stays as it is.
fn page(places: &mut [Place], range: Range<usize>, descending: bool) -> &[Place] {
    if descending { part(places, range, |place| Reverse(*place)) } else { part(places, range, |place| *place) }
}

fn part<K: Ord>(places: &mut [Place], range: Range<usize>, key: impl Fn(&Place) -> K) -> &[Place] {
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

fn position_of(rows: &Rows, place: Place, call: &ListCall, columns: &[Column], view: View<'_>) -> Option<Cursor> {
    let PageCall::Cursor { keys, .. } = &call.page else { return None };
    let (chunk, row) = rows.at(place.1 as usize);
    let keys = keys.iter().map(|(name, cell)| (name.clone(), view.cell(columns[*cell], chunk, row)));
    Some(Cursor { id: row.id, keys: keys.collect() })
}

fn live(mut item: Item, view: View<'_>) -> Item {
    if let std::borrow::Cow::Owned(labels) = view.live(&item.labels) {
        item.labels = labels;
    }
    item
}

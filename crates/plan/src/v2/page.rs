//! Selects the requested page from all records that a caller may see, and writes its envelope.
//!
//! May use: nothing of this crate; pure functions over records.

use super::cursor::Cursor;
use super::query::{Condition, ListCall, OrderBy, PageCall, Search, Test};
use super::record::{Cell, Record};
use super::value::small_letters;
use std::cmp::Ordering;
use std::collections::HashSet;
use uuid::Uuid;

/// Writes the envelope for `call` over `records`, which may be in any order.
pub fn answer<'r>(records: impl Iterator<Item = &'r Record>, call: &ListCall) -> Vec<u8> {
    let filter = Filter::of(call);
    let mut rows: Vec<&Record> = records.filter(|record| filter.passes(record)).collect();
    rows.sort_by(|a, b| order(a, b, &call.order));
    let start = match &call.page {
        PageCall::Cursor { after: Some(cursor), .. } => {
            rows.partition_point(|row| !is_after(row, cursor, &call.order))
        }
        page => page.offset().min(rows.len()),
    };
    let rest = &rows[start..];
    let page = &rest[..rest.len().min(call.page.per_page())];
    let next = match (&call.page, page.last()) {
        (PageCall::Cursor { keys, .. }, Some(last)) if page.len() < rest.len() => Some(position(last, keys)),
        _ => None,
    };
    envelope(data(page, &call.expand), &call.page, rows.len(), next.as_ref())
}

/// The filters and the search of a call, prepared for many records.
pub struct Filter<'c> {
    call: &'c ListCall,
    /// For each condition on ids alone, the set of ids that it accepts, which may be long.
    ids: Vec<Option<HashSet<Uuid>>>,
}

impl<'c> Filter<'c> {
    /// Prepares the filter of `call`.
    pub fn of(call: &'c ListCall) -> Self {
        Self { call, ids: call.conditions.iter().map(|condition| ids(&condition.test)).collect() }
    }

    /// Checks whether a record passes.
    pub fn passes(&self, record: &Record) -> bool {
        let mut conditions = self.call.conditions.iter().zip(&self.ids);
        conditions.all(|(condition, ids)| match (ids, record.cells.get(condition.cell)) {
            (Some(ids), Some(Cell::Id(id))) => ids.contains(id),
            (Some(ids), Some(Cell::Ids(held))) => held.iter().any(|id| ids.contains(id)),
            _ => passes(record, condition),
        }) && self.call.search.as_ref().is_none_or(|search| found(record, search))
    }
}

/// Returns the ids of a test that accepts nothing but ids.
fn ids(test: &Test) -> Option<HashSet<Uuid>> {
    let Test::AnyOf(wanted) = test else { return None };
    wanted.iter().map(|cell| if let Cell::Id(id) = cell { Some(*id) } else { None }).collect()
}

fn passes(record: &Record, condition: &Condition) -> bool {
    record.cells.get(condition.cell).is_some_and(|cell| condition.test.holds_for(cell))
}

fn found(record: &Record, search: &Search) -> bool {
    search.cells.iter().any(|&cell| match record.cells.get(cell) {
        Some(Cell::Text(text)) => small_letters(text).contains(&search.needle),
        _ => false,
    })
}

/// Compares two records by the order in effect. The id breaks ties, in the same direction as the order (O21).
pub fn order(a: &Record, b: &Record, by: &OrderBy) -> Ordering {
    let ascending = a.cells[by.cell].order(&b.cells[by.cell]).then_with(|| a.id.cmp(&b.id));
    if by.descending { ascending.reverse() } else { ascending }
}

/// Closes an envelope that [`rows`] began (O17, O18). In the offset style `total` is the number of rows of the whole
/// list. In the cursor style `next` is the position after which more rows follow.
pub fn envelope(mut data: Vec<u8>, page: &PageCall, total: usize, next: Option<&Cursor>) -> Vec<u8> {
    let tail = match page {
        PageCall::Offset { offset, per_page, count } => {
            let end = offset.saturating_add(*per_page);
            let next = or_null((end < total).then_some(end));
            let previous = or_null((*offset > 0).then(|| offset.saturating_sub(*per_page)));
            let total = if *count { format!(",\"total_count\":{total}") } else { String::new() };
            format!(",\"next\":{next},\"previous\":{previous}{total},\"pagination\":{{\"style\":\"offset\"}}}}")
        }
        PageCall::Cursor { .. } => {
            let token = next.map_or_else(|| "null".to_owned(), |next| format!("\"{}\"", next.encode()));
            let has_more = next.is_some();
            format!(",\"next_cursor\":{token},\"has_more\":{has_more},\"pagination\":{{\"style\":\"cursor\"}}}}")
        }
    };
    data.extend_from_slice(tail.as_bytes());
    data
}

/// Returns the position after `row`, with its values of `keys`.
pub fn position(row: &Record, keys: &[(String, usize)]) -> Cursor {
    let keys = keys.iter().map(|(name, cell)| (name.clone(), row.cells[*cell].clone())).collect();
    Cursor { id: row.id, keys }
}

fn is_after(row: &Record, cursor: &Cursor, by: &OrderBy) -> bool {
    let key = if by.field == "id" {
        Ordering::Equal
    } else {
        row.cells[by.cell].order(cursor.key(&by.field).unwrap_or(&Cell::Null))
    };
    let ascending = key.then_with(|| row.id.cmp(&cursor.id));
    let directed = if by.descending { ascending.reverse() } else { ascending };
    directed == Ordering::Greater
}

fn data(page: &[&Record], expand: &[usize]) -> Vec<u8> {
    let size: usize = page.iter().map(|row| row.json.len() + 1).sum();
    rows(size, page.iter().map(|row| move |out: &mut Vec<u8>| row.write(expand, out)))
}

/// Begins an envelope: `data` with the output of each writer. `size` is an estimate of the bytes needed.
pub fn rows<W: FnOnce(&mut Vec<u8>)>(size: usize, writers: impl Iterator<Item = W>) -> Vec<u8> {
    let mut out = Vec::with_capacity(size + 128);
    out.extend_from_slice(b"{\"data\":[");
    for (index, write) in writers.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(&mut out);
    }
    out.push(b']');
    out
}

fn or_null(number: Option<usize>) -> String {
    number.map_or_else(|| "null".to_owned(), |number| number.to_string())
}

//! A page of work items straight from v1, for lists that v1 can answer correctly: no filter, no search, and an
//! order by which v1 really sorts. One call, no index.
//!
//! v1's pages are numbered, so the wanted window is fitted into one page of a suitable size (trap 43). One more
//! row on each side is read. If the rows at a boundary have the same sort key, v1's tie-break decides which of them is
//! on the page (trap 45, `lists_ties_priority_page_1`); it differs from v2's, so such a page is not used. May use: what
//! `run` may use.

use crate::index::{Index, Selection};
use crate::refusal::Refusal;
use crate::run::job::InProject;
use crate::run::members::{bad_data, refused_list};
use crate::run::reads::outage::Answered;
use crate::translate::incoming;
use crate::translate::work_items::{self, Item, Page};
use crate::v1::{V1Request, V1Response, refusal_of_status};
use crate::v2::cursor::Cursor;
use crate::v2::query::{ListCall, OrderBy, PageCall};
use foldhash::fast::RandomState;
use std::collections::HashSet;
use std::time::Instant;
use uuid::Uuid;

/// Largest page that v1 returns.
const LARGEST: usize = 1000;
/// Number of rows in the order of their ids which prove that v1 orders by id; fewer can be in order by chance. Since
/// Plane 1.4.0 v1 silently uses its default order for `id`.
const PROOF: usize = 20;

/// Rows to read, counted from the start of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Window {
    start: usize,
    rows: usize,
}

/// Checks whether v1 can answer `call` by itself.
pub(in crate::run) fn is_possible(call: &ListCall) -> bool {
    let first = !matches!(call.page, PageCall::Cursor { after: Some(_), .. });
    first && call.conditions.is_empty() && call.search.is_none() && sort_key(&call.order).is_some()
}

/// Reads the page; none when a boundary ties, the list moved or v1 sorts differently: then only the index can answer.
pub(in crate::run) async fn read(job: &InProject<'_>, call: &ListCall) -> Result<Option<Selection>, Refusal> {
    if is_by_id(&call.order) && job.runner.not_by_id.contains(&()) {
        return Ok(None);
    }
    let window = Window { start: call.page.offset(), rows: call.page.per_page() };
    let before = if is_by_id(&call.order) { PROOF } else { 1 };
    let Some((size, number)) = fit(window, before) else { return Ok(None) };
    let resource = job.work_items()?;
    let request = V1Request::get(job.collection_path(resource)?, query(&call.order, size, number));
    let answered = job.ask_page(request, page_in).await;
    match job.explain_refused_read(answered).await? {
        Answered::Read(page) => {
            if page.total == 0 {
                job.prove_empty(Instant::now()).await?;
            }
            Ok(cut(job, page, window, (size, size * number), call))
        }
        Answered::Otherwise(answer) => match answer.status {
            403 => Err(job.after_refused_read(refused_list()).await),
            404 => Err(job.after_refused_read(Refusal::not_found()).await),
            status => Err(Refusal::upstream("The work items could not be listed.", format!("status {status}"))),
        },
    }
}

/// Reads the page in a success of v1, which was not checked before.
fn page_in(answer: &V1Response) -> Result<Page, Refusal> {
    let page = incoming::text(&answer.body).and_then(work_items::read_page);
    page.map_err(|fault| refusal_of_status(answer).unwrap_or_else(|| bad_data(&fault)))
}

/// Returns size and number of the smallest v1 page that holds the window, one row after it and `before` rows before it.
/// When the list ends in the window, the rows before prove the order (`PROOF`); at the start of the list, as many rows
/// after it do.
fn fit(window: Window, before: usize) -> Option<(usize, usize)> {
    let first = window.start.saturating_sub(before);
    let end = window.start + window.rows + 1;
    (before.max(end - first)..=LARGEST)
        .map(|size| (size, first / size))
        .find(|(size, number)| end <= (number + 1) * size)
}

fn query(order: &OrderBy, size: usize, number: usize) -> String {
    let sign = if order.descending { "-" } else { "" };
    let fields = work_items::FIELDS;
    let page = format!("per_page={size}&order_by={sign}{}&{fields}", order.field);
    if number == 0 { page } else { format!("cursor={size}:{number}:0&{page}") }
}

/// Cuts the window out of a page of `size` rows that follows `skipped` rows, in v2's order; none when a boundary ties
/// or the list moved.
fn cut(
    job: &InProject<'_>,
    page: Page,
    window: Window,
    (size, skipped): (usize, usize),
    call: &ListCall,
) -> Option<Selection> {
    let Page { total, rows: mut items } = page;
    if items.len() != total.saturating_sub(skipped).min(size) {
        // Rows came or went while v1 answered, or rows are missing.
        return None;
    }
    let is_all = items.len() == total;
    if is_by_id(&call.order) && !is_all && !items.is_empty() && items.len() < PROOF {
        return None;
    }
    let key = sort_key(&call.order)?;
    // A v1 that does not know an order may silently use another one.
    let in_order = |a: &Item, b: &Item| if call.order.descending { key(a) >= key(b) } else { key(a) <= key(b) };
    if !items.is_sorted_by(in_order) {
        if is_by_id(&call.order) {
            // Ids do not change, so v1 does not know this order.
            job.runner.not_by_id.insert((), ());
        }
        return None;
    }
    let start = window.start - skipped;
    let ties = |at: usize| at > 0 && at < items.len() && key(&items[at - 1]) == key(&items[at]);
    if ties(start) || ties(start + window.rows) {
        return None;
    }
    // By keys, because rows are large. v1 leaves ties in any order, and items created together tie.
    items.sort_by_cached_key(|item| {
        let (place, id) = (key(item).0, item.id.as_u128());
        if call.order.descending { (!place, !id) } else { (place, id) }
    });
    let mut seen = HashSet::with_capacity_and_hasher(items.len(), RandomState::default());
    if !items.iter().all(|item| seen.insert(item.id)) {
        return None;
    }
    let end = items.len().min(start + window.rows);
    let has_more = end < items.len();
    items.truncate(end);
    items.drain(..start.min(end));
    items.iter_mut().for_each(|item| job.take_deleted_labels(item));
    let next = items.last().filter(|_| has_more).and_then(|last| position(job, last, call));
    Some(Selection { rows: items, total, start: window.start, has_more, next })
}

fn is_by_id(order: &OrderBy) -> bool {
    order.field == "id"
}

/// The value by which v1 sorts the rows: rows with equal values tie.
type SortKey = fn(&Item) -> (i64, Uuid);

/// Returns the key of an order that v1 sorts like v2, apart from ties.
fn sort_key(order: &OrderBy) -> Option<SortKey> {
    match order.field.as_str() {
        "id" => Some(|item| (0, item.id)),
        "sequence_id" => Some(|item| (item.sequence_id, Uuid::nil())),
        "created_at" => Some(|item| (item.created_at, Uuid::nil())),
        "updated_at" => Some(|item| (item.updated_at, Uuid::nil())),
        _ => None,
    }
}

/// Returns the position after an item, for the cursor of the next page.
fn position(job: &InProject<'_>, last: &Item, call: &ListCall) -> Option<Cursor> {
    let PageCall::Cursor { keys, .. } = &call.page else { return None };
    let (columns, index) = (&job.resource().columns, Index::of([last.clone()]));
    let keys = keys.iter().map(|(name, cell)| Some((name.clone(), index.value(last.id, columns[*cell])?)));
    Some(Cursor { id: last.id, keys: keys.collect::<Option<_>>()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_window_lies_in_one_page_with_a_row_on_each_side() {
        for rows in [1, 50, 200] {
            for start in 0..=10_000 {
                let window = Window { start, rows };
                for before in [1, PROOF] {
                    let (size, number) = fit(window, before).unwrap_or_else(|| panic!("no page for {window:?}"));
                    assert!((before..=LARGEST).contains(&size) && number * size <= start.saturating_sub(before));
                    assert!((number + 1) * size > start + rows);
                }
            }
        }
        assert_eq!(fit(Window { start: 0, rows: 50 }, 1), Some((51, 0)));
        assert_eq!(fit(Window { start: 0, rows: 1 }, PROOF), Some((PROOF, 0)));
    }
}

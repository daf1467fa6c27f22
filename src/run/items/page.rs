//! A page of work items straight from v1, for lists that v1 can answer truly: no filter, no search, and an
//! order v1 really sorts. One call, no index.
//!
//! v1's pages are numbered, so the wanted window is laid into one page of a suitable size (trap 43). One row
//! more on each side is read: where the boundary ties on the sort key, v1's tie-break decides what falls on
//! the page (trap 45, `lists_ties_priority_page_1`), which is not v2's, so such a page is not used.

use crate::index::{Index, Lookups, Selection};
use crate::refusal::Refusal;
use crate::run::in_project::InProject;
use crate::run::v1_faults::bad_data;
use crate::translate::work_items::{self, Item};
use crate::translate::{Fault, incoming};
use crate::v1::V1Request;
use crate::v2::query::{ListCall, OrderBy, PageCall};
use serde::Deserialize;
use uuid::Uuid;

/// Orders v1 sorts as v2 means them, apart from ties.
const SORTED_BY_V1: [&str; 4] = ["id", "sequence_id", "created_at", "updated_at"];
/// Largest page v1 gives.
const LARGEST: usize = 1000;

/// Rows to read, seen from the start of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Window {
    /// First row asked for.
    start: usize,
    /// Rows asked for.
    rows: usize,
}

/// Whether v1 can answer `call` by itself.
pub(in crate::run) fn is_possible(call: &ListCall) -> bool {
    let first = !matches!(call.page, PageCall::Cursor { after: Some(_), .. });
    first
        && call.conditions.is_empty()
        && call.search.is_none()
        && SORTED_BY_V1.contains(&call.order.field.as_str())
}

/// Reads the page; none when a boundary ties or the list moved, so that only the index can answer.
pub(in crate::run) async fn read(job: &InProject<'_>, call: &ListCall) -> Result<Option<Selection>, Refusal> {
    let window = Window { start: call.page.offset(), rows: call.page.per_page() };
    let Some((size, number)) = fit(window) else { return Ok(None) };
    let resource = job.work_items()?;
    let request = V1Request::get(job.collection_path(resource)?, query(&call.order, size, number));
    let answer = job.ask_project(request, None).await;
    let answer = job.explained(answer).await?;
    match answer.status {
        200 => cut(job, &answer.body, window, (size, size * number), call),
        403 | 404 => Err(job.after_refused_read(Refusal::not_found()).await),
        status => Err(Refusal::upstream("The work items could not be listed.", format!("status {status}"))),
    }
}

/// Size and number of the smallest v1 page that holds the window and one row on each side.
fn fit(window: Window) -> Option<(usize, usize)> {
    let first = window.start.saturating_sub(1);
    let end = window.start + window.rows + 1;
    (end - first..=LARGEST).map(|size| (size, first / size)).find(|(size, number)| end <= (number + 1) * size)
}

fn query(order: &OrderBy, size: usize, number: usize) -> String {
    let sign = if order.descending { "-" } else { "" };
    let fields = work_items::FIELDS;
    let page = format!("per_page={size}&order_by={sign}{}&{fields}", order.field);
    if number == 0 { page } else { format!("cursor={size}:{number}:0&{page}") }
}

/// The window of a page of `size` rows before which `skipped` are, in v2's order.
fn cut(
    job: &InProject<'_>,
    body: &[u8],
    window: Window,
    (size, skipped): (usize, usize),
    call: &ListCall,
) -> Result<Option<Selection>, Refusal> {
    #[derive(Deserialize)]
    struct Envelope {
        total_count: usize,
    }
    let envelope: Envelope = serde_json::from_slice(body).map_err(|fault| bad_data(&Fault(fault.to_string())))?;
    let rows = incoming::rows(crate::plan::Rows::Paged, body).map_err(|fault| bad_data(&fault))?;
    if rows.len() != envelope.total_count.saturating_sub(skipped).min(size) {
        // Rows came or went while v1 answered, or some are missing.
        return Ok(None);
    }
    let items: Result<Vec<Item>, Fault> = rows.iter().map(|row| work_items::read(row.get())).collect();
    let items = items.map_err(|fault| bad_data(&fault))?;
    let ids: Vec<Uuid> = items.iter().map(|item| item.id).collect();
    let (columns, start) = (&job.resource().columns, window.start - skipped);
    let index = Index::of(items.into_iter().map(|item| job.without_deleted_labels(item)));
    if index.len() != ids.len() {
        return Ok(None);
    }
    let key = |at: usize| ids.get(at).and_then(|id| index.value(*id, columns[call.order.cell]));
    let ties = |at: usize| at > 0 && at < ids.len() && key(at - 1) == key(at);
    if ties(start) || ties(start + window.rows) {
        return Ok(None);
    }
    let page = match call.page {
        PageCall::Offset { per_page, count, .. } => PageCall::Offset { offset: start, per_page, count },
        PageCall::Cursor { .. } => call.page.clone(),
    };
    let selection = index.select(&ListCall { page, ..call.clone() }, columns, &Lookups::default());
    Ok(Some(Selection { total: envelope.total_count, ..selection }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_window_lies_in_one_page_with_a_row_on_each_side() {
        for rows in [1, 50, 200] {
            for start in 0..=10_000 {
                let window = Window { start, rows };
                let (size, number) = fit(window).unwrap_or_else(|| panic!("no page for {window:?}"));
                assert!(size <= LARGEST && number * size <= start.saturating_sub(1));
                assert!((number + 1) * size > start + rows);
            }
        }
        assert_eq!(fit(Window { start: 0, rows: 50 }), Some((51, 0)));
    }
}

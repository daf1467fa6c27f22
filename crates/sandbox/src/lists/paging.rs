//! The paging envelope of all lists, and its parameters. May use: `door`, `forms`.

use serde_json::{Value, json};

use crate::door::http::{Answer, Query, Reply};
use crate::forms::values::whole;

/// The largest page size, which is also the default.
const LARGEST: i128 = 1000;

/// The requested page.
#[derive(Debug, Clone, Copy)]
struct Page {
    size: usize,
    number: i64,
    start: usize,
}

/// Reads `per_page` and `cursor`. The size is not part of the cursor
/// (`pagination_cursor_without_per_page`).
fn page(query: &Query) -> Result<Page, Reply> {
    let size = match query.get("per_page") {
        None => LARGEST,
        Some(text) => whole(text).ok_or_else(|| Reply::detail(400, "Invalid per_page parameter."))?,
    };
    if size > LARGEST {
        return Err(Reply::detail(400, "Invalid per_page value. Cannot exceed 1000."));
    }
    let (first, number, backwards) = match query.get("cursor") {
        None => (Some(size), 0, false),
        Some(text) => cursor(text).ok_or_else(|| Reply::detail(400, "Invalid cursor parameter."))?,
    };
    if number < 0 {
        return Err(Reply::detail(400, "Error in parsing"));
    }
    // Sizes below one divide by zero or slice from the end (`pagination_per_page_0`,
    // `pagination_per_page_negative`). Going backwards with another size fails in the same way
    // (`pagination_cursor_prev_flag_other_value`). A huge page number overflows
    // (`pagination_absurd_offset`).
    let start = number.saturating_mul(size);
    if size < 1 || (backwards && first != Some(size)) || start > i128::from(i64::MAX) {
        return Err(Reply::crash());
    }
    Ok(Page {
        size: usize::try_from(size).unwrap_or(1),
        number: i64::try_from(number).unwrap_or(i64::MAX - 1),
        start: usize::try_from(start).unwrap_or(usize::MAX),
    })
}

/// Reads `a:page:flag`; `a` may be a float (`pagination_cursor_float`). A float that is no whole number
/// is no size that can be compared.
fn cursor(text: &str) -> Option<(Option<i128>, i128, bool)> {
    let mut parts = text.split(':');
    let (a, number, flag) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let first = if a.contains('.') {
        let float: f64 = a.trim().parse().ok()?;
        #[expect(clippy::cast_possible_truncation, reason = "checked to be whole")]
        let exact = (float.fract() == 0.0).then_some(float as i128);
        exact
    } else {
        Some(whole(a)?)
    };
    Some((first, whole(number)?, whole(flag)? != 0))
}

/// A page of a list of `rows` rows. `total` is the number of records, which can be smaller when an
/// order repeats rows (`lists_order_relation_duplicates_rows`).
pub(crate) fn paginate_counted(
    query: &Query,
    total: usize,
    rows: usize,
    render: impl FnMut(usize) -> Value,
) -> Answer {
    let page = page(query)?;
    let end = page.start.saturating_add(page.size).min(rows);
    let results: Vec<Value> = (page.start.min(end)..end).map(render).collect();
    let count = results.len();
    Ok(Reply::ok(json!({
        "grouped_by": null,
        "sub_grouped_by": null,
        "total_count": total,
        "next_cursor": format!("{}:{}:0", page.size, page.number.saturating_add(1)),
        "prev_cursor": format!("{}:{}:1", page.size, page.number - 1),
        "next_page_results": rows > end,
        "prev_page_results": page.number > 0,
        "count": count,
        "total_pages": total.div_ceil(page.size),
        "total_results": total,
        "extra_stats": null,
        "results": results,
    })))
}

/// A page of a list.
pub(crate) fn paginate<T>(query: &Query, rows: &[T], mut render: impl FnMut(&T) -> Value) -> Answer {
    paginate_counted(query, rows.len(), rows.len(), |index| render(&rows[index]))
}

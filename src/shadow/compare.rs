//! In what two answers to the same read differ.
//!
//! The status, the media type and the body are compared. Errors are compared by their code, for their prose is nobody's
//! contract. Lists inside a record have no order. Cursors are opaque, so only whether there is one counts.
//!
//! The rows of two pages are held against each other by their id. Their order counts as far as the contract has one:
//! the values of the field that orders them follow in the same order, and rows with the same value may stand in any
//! order. At the ends of a page that is not the whole list, rows with the same value as the last one may be others.
//!
//! May use: this folder.

use super::found::{Difference, Outcome};
use super::values::same;
use super::walk::{Rules, Walk, by_key, key};
use bytes::Bytes;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Longest media type that is told, in characters.
const LONGEST: usize = 60;

/// One side's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// Its status.
    pub status: u16,
    /// Its `Content-Type`.
    pub media: String,
    /// Its body.
    pub body: Bytes,
}

/// Holds two answers to the same read against each other: what came of it, and the places where they differ, each
/// named once.
pub fn compare(rules: Rules<'_>, ours: &Side, theirs: &Side) -> (Outcome, Vec<Difference>) {
    let plain = |place: &str, ours: String, theirs: String| {
        (Outcome::Different, vec![Difference { place: place.into(), ours, theirs }])
    };
    let incomparable = (Outcome::NotComparable, Vec::new());
    if ours.status != theirs.status {
        return plain("status", ours.status.to_string(), theirs.status.to_string());
    }
    let media = |side: &Side| {
        let media = side.media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        // The text of a header is shown to operators.
        let legal = |c: char| c.is_ascii_alphanumeric() || "/+-.".contains(c);
        if media.len() <= LONGEST && media.chars().all(legal) { media } else { "something else".into() }
    };
    if media(ours) != media(theirs) {
        return plain("header content-type", media(ours), media(theirs));
    }
    if ours.body.is_empty() && theirs.body.is_empty() {
        return (Outcome::Equal, Vec::new());
    }
    let Ok(one) = serde_json::from_slice::<Value>(&ours.body) else { return incomparable };
    let Ok(other) = serde_json::from_slice::<Value>(&theirs.body) else {
        return plain("body", "JSON".into(), "something else".into());
    };
    let mut walk = Walk::new(rules);
    if ours.status >= 400 {
        walk.values("/code", one.get("code"), other.get("code"));
    } else {
        match (one.get("data").and_then(Value::as_array), other.get("data").and_then(Value::as_array)) {
            (Some(_), Some(_)) => {
                if rows(&mut walk, &one, &other).is_none() {
                    return incomparable;
                }
            }
            _ => walk.values("", Some(&one), Some(&other)),
        }
    }
    let differences = walk.found();
    (if differences.is_empty() { Outcome::Equal } else { Outcome::Different }, differences)
}

/// Where the next page of a walk by cursors begins.
const CURSOR: &str = "next_cursor";

/// Compares two pages; none when the contract does not say which rows they hold.
pub(super) fn rows(walk: &mut Walk<'_>, ours: &Value, theirs: &Value) -> Option<()> {
    let (one, other) = (ours.as_object()?, theirs.as_object()?);
    let (mine, their) = (data(one), data(other));
    let (by_id, their_by_id) = (by_key(mine), by_key(their));
    let only = |here: &[Value], there: &BTreeMap<String, Vec<&Value>>| -> Vec<Value> {
        here.iter().filter(|row| !there.contains_key(&key(row))).cloned().collect()
    };
    let (only_ours, only_theirs) = (only(mine, &their_by_id), only(their, &by_id));
    let part = is_part(one) || is_part(other);
    let mut missing = (only_ours.len(), only_theirs.len());
    if part && !(only_ours.is_empty() && only_theirs.is_empty()) {
        // Without its value nobody can say whether a row stands at an end.
        let order =
            walk.rules.order.filter(|field| mine.iter().chain(their).all(|row| row.get(*field).is_some()))?;
        missing = (not_at_an_end(&only_ours, mine, order), not_at_an_end(&only_theirs, their, order));
    }
    for (row, rows) in &by_id {
        let Some(others) = their_by_id.get(row) else { continue };
        if rows.len() != others.len() {
            walk.note("/data", "a row once", "the row again");
        }
        if let (Some(one), Some(other)) = (rows.first(), others.first()) {
            walk.values("/data/*", Some(one), Some(other));
        }
    }
    if missing.0 > 0 {
        walk.note("/data/*", "a row", "nothing");
    }
    if missing.1 > 0 {
        walk.note("/data/*", "nothing", "a row");
    }
    if only_ours.is_empty()
        && only_theirs.is_empty()
        && let Some(order) = walk.rules.order
        && !in_one_order(mine, their, order)
    {
        walk.note("/data", &format!("in the order of {order}"), "in another order");
    }
    match (one.get(CURSOR), other.get(CURSOR)) {
        // Each side writes them as it likes.
        (Some(Value::String(_)), Some(Value::String(_))) => {}
        (one, other) => walk.values("/next_cursor", one, other),
    }
    walk.objects("", one, other, &["data", CURSOR]);
    Some(())
}

fn data(page: &Map<String, Value>) -> &[Value] {
    page.get("data").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Whether a page is not the whole list.
fn is_part(page: &Map<String, Value>) -> bool {
    let is_there = |name: &str| page.get(name).is_some_and(|value| !value.is_null());
    is_there("next") || is_there("previous") || page.get("has_more") == Some(&Value::Bool(true))
}

/// How many of `only`, which are among `rows`, stand at neither end.
fn not_at_an_end(only: &[Value], rows: &[Value], order: &str) -> usize {
    let ends = [rows.first(), rows.last()];
    let at_an_end = |row: &&Value| {
        ends.iter().flatten().any(|end| match (row.get(order), end.get(order)) {
            (Some(value), Some(end)) => same(value, end),
            _ => false,
        })
    };
    only.iter().filter(|row| !at_an_end(row)).count()
}

/// Whether the values of a field follow in the same order; yes where it is not shown.
fn in_one_order(ours: &[Value], theirs: &[Value], order: &str) -> bool {
    let mut pairs = ours.iter().zip(theirs);
    pairs.all(|(one, other)| match (one.get(order), other.get(order)) {
        (Some(one), Some(other)) => same(one, other),
        _ => true,
    })
}

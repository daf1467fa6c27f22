//! Compares two answers to the same read.
//!
//! Status, media type and body are compared. Errors are compared by their code, because their text is not part of the
//! contract. Lists inside a record have no order. Cursors are opaque, so only their presence counts.
//!
//! The rows of two pages are matched by their id, those of rosters by the person. Their order counts as far as the
//! contract defines one: the values of the field that orders them must follow in the same order; rows with the same
//! value may be in any order. Where both lists go on beyond an end of the page, the two sides may show different rows
//! with the value that both pages have at this end. All other rows must be on both sides.
//!
//! May use: this folder.

use super::found::{Difference, Outcome};
use super::values::same;
use super::walk::{Rules, Walk, by_key, key, person};
use bytes::Bytes;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Longest media type in a difference, in characters.
const LONGEST: usize = 60;

/// The answer of one side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// Its status.
    pub status: u16,
    /// Its `Content-Type`.
    pub media: String,
    /// Its body.
    pub body: Bytes,
}

/// Compares two answers to the same read; returns the outcome, and the places where they differ, each once.
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
        // Operators see the text of this header.
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
    let mut is_known = true;
    if ours.status >= 400 {
        walk.values("/code", one.get("code"), other.get("code"));
    } else {
        match (page(&one), page(&other)) {
            (Some(one), Some(other)) => is_known = rows(&mut walk, one, other),
            _ => walk.values("", Some(&one), Some(&other)),
        }
    }
    let differences = walk.found();
    match (differences.is_empty(), is_known) {
        (true, true) => (Outcome::Equal, differences),
        (true, false) => incomparable,
        (false, _) => (Outcome::Different, differences),
    }
}

/// Member with the cursor of the next page.
const CURSOR: &str = "next_cursor";

/// Returns the members of a page of a list; none for other answers.
fn page(answer: &Value) -> Option<&Map<String, Value>> {
    answer.as_object().filter(|page| page.get("data").is_some_and(Value::is_array))
}

/// Compares two pages; returns false when nothing shows whether the rows of one side are missing on the other side or
/// on another page there.
fn rows(walk: &mut Walk<'_>, one: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    let (mine, their) = (data(one), data(other));
    let (by_id, their_by_id) = (by_key(mine), by_key(their));
    let only = |here: &[Value], there: &BTreeMap<String, Vec<&Value>>| -> Vec<Value> {
        here.iter().filter(|row| !there.contains_key(&key(row))).cloned().collect()
    };
    let (only_ours, only_theirs) = (only(mine, &their_by_id), only(their, &by_id));
    // Memberships have other ids on each side, so an order by the id cannot be compared.
    let are_memberships = mine.iter().chain(their).any(|row| person(Some(row)).is_some());
    let order = walk.rules.order.filter(|field| !(are_memberships && *field == "id"));
    let cuts = cuts(one, other);
    let mut missing = (only_ours.len(), only_theirs.len());
    let mut is_known = true;
    if !cuts.is_empty() && missing != (0, 0) {
        match order.filter(|field| mine.iter().chain(their).all(|row| row.get(*field).is_some())) {
            Some(order) => missing = (not_tied(&only_ours, &cuts, order), not_tied(&only_theirs, &cuts, order)),
            // Without the value of this field nothing shows whether a row is tied with an end.
            None => (missing, is_known) = ((0, 0), false),
        }
    }
    if mine.len() != their.len() && missing == (0, 0) {
        walk.note("/data", &format!("{} rows", mine.len()), &format!("{} rows", their.len()));
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
    // Tied rows may be others, but at each place of the page both sides have the same value.
    if missing == (0, 0)
        && let Some(order) = order
        && !in_one_order(mine, their, order)
    {
        walk.note("/data", &format!("in the order of {order}"), "in another order");
    }
    match (one.get(CURSOR), other.get(CURSOR)) {
        // Each side has its own form of cursors.
        (Some(Value::String(_)), Some(Value::String(_))) => {}
        (one, other) => walk.values("/next_cursor", one, other),
    }
    walk.objects("", one, other, &["data", CURSOR]);
    is_known
}

fn data(page: &Map<String, Value>) -> &[Value] {
    page.get("data").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The rows at one end of two pages; none for an empty page.
type Cut<'r> = [Option<&'r Value>; 2];

/// Returns the ends of two pages beyond which both lists go on.
fn cuts<'r>(ours: &'r Map<String, Value>, theirs: &'r Map<String, Value>) -> Vec<Cut<'r>> {
    let is_there = |page: &Map<String, Value>, name: &str| page.get(name).is_some_and(|value| !value.is_null());
    let goes_on =
        |page: &Map<String, Value>| is_there(page, "next") || page.get("has_more") == Some(&Value::Bool(true));
    let (mine, their) = (data(ours), data(theirs));
    let front = is_there(ours, "previous") && is_there(theirs, "previous");
    let front = front.then(|| [mine.first(), their.first()]);
    let back = (goes_on(ours) && goes_on(theirs)).then(|| [mine.last(), their.last()]);
    front.into_iter().chain(back).collect()
}

/// Counts the rows of `only` except those with the value that both pages have at one of the `cuts`.
fn not_tied(only: &[Value], cuts: &[Cut<'_>], order: &str) -> usize {
    let is_same = |row: &Value, end: &Value| match (row.get(order), end.get(order)) {
        (Some(value), Some(end)) => same(value, end),
        _ => false,
    };
    let is_tied =
        |row: &Value| cuts.iter().any(|cut| cut.iter().all(|end| end.is_some_and(|end| is_same(row, end))));
    only.iter().filter(|row| !is_tied(row)).count()
}

/// Checks whether the values of a field follow in the same order; true where a row does not show the field.
fn in_one_order(ours: &[Value], theirs: &[Value], order: &str) -> bool {
    let mut pairs = ours.iter().zip(theirs);
    pairs.all(|(one, other)| match (one.get(order), other.get(order)) {
        (Some(one), Some(other)) => same(one, other),
        _ => true,
    })
}

//! In what two answers to the same read differ.
//!
//! The status, the media type and the body are compared. Errors are compared by their code, for their prose is nobody's
//! contract. Lists inside a record have no order; the rows of a page are the business of `rows`. Cursors are opaque, so
//! only whether there is one counts.
//!
//! May use: this folder.

use super::found::{Difference, Outcome};
use super::rows::rows;
use super::walk::{Rules, Walk};
use bytes::Bytes;
use serde_json::Value;

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

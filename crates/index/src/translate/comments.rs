//! Oddities of comments.
//!
//! v1 stores their HTML as sent (trap 32), never sets `edited_at` (trap 33), requires external pairs that are unique in
//! the whole project (trap 34), and lets anyone in the project edit and delete any comment (trap 35). The mapping
//! declares `comment_stripped` and the overlay of `edited_at` and of the pair. The decisions about these two are here.
//!
//! May use: `plan`, `v1` answers, `v2`, `refusal`, this folder.

use super::outgoing::{self, Outgoing};
use super::{Held, html};
use crate::plan::Resource;
use crate::refusal::Refusal;
use crate::v1::V1Response;
use crate::v2::body::Given;
use crate::v2::time::{self, Micros};
use serde_json::{Map, Value};

/// The external pair; v1 and v2 use the same names.
pub(super) const PAIR: [&str; 2] = ["external_id", "external_source"];

/// Makes the HTML of a body harmless before it is sent (O48).
///
/// # Errors
/// `validation_error` on `comment_html` when it cannot be sanitised or when the sanitised text is blank.
pub fn sanitise(mut given: Given) -> Result<Given, Refusal> {
    let Some(Value::String(sent)) = given.get("comment_html") else { return Ok(given) };
    let clean = html::sanitise(sent).map_err(|why| Refusal::field("comment_html", why))?;
    let clean = clean.trim();
    if clean.is_empty() {
        return Err(Refusal::field("comment_html", "must not be blank; what is not allowed in it was left out"));
    }
    let clean = clean.to_owned();
    given.insert("comment_html".to_owned(), clean.into());
    Ok(given)
}

/// Builds an update with only the members that differ from v2's view, and the other half of a pair that differs: either
/// v1 or the overlay holds the whole pair. It counts as an edit at `now`, whatever it sends.
pub fn update(resource: &Resource, mut given: Given, stored: &Held, now: Micros) -> Outgoing {
    let shown = stored.v2_members();
    given.retain(|name, value| shown.get(name) != Some(value));
    if PAIR.iter().any(|half| given.contains_key(*half)) {
        for half in PAIR {
            if let Some(value) = shown.get(half) {
                given.entry(half).or_insert_with(|| value.clone());
            }
        }
    }
    let mut outgoing = outgoing::update(resource, &given);
    outgoing.overlay.insert("edited_at".to_owned(), time::write(now).into());
    outgoing
}

/// Checks whether v1 rejected the write because another comment of the project has the external pair
/// (`comments_create_duplicate_external_on_other_item`, `comments_patch_external_duplicate`).
pub fn is_pair_taken(sent: &Map<String, Value>, answer: &V1Response) -> bool {
    answer.status == 409 && PAIR.iter().any(|key| sent.contains_key(*key))
}

/// Moves the pair from the body to the overlay, because v2 allows duplicates.
pub fn keep_pair(outgoing: &mut Outgoing) {
    for key in PAIR {
        if let Some(value) = outgoing.body.shift_remove(key) {
            outgoing.overlay.insert(key.to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn given(members: Value) -> Given {
        members.as_object().unwrap().clone()
    }

    #[test]
    fn html_is_made_harmless_or_refused() {
        let body =
            sanitise(given(json!({"comment_html": "<p>a</p><script>x</script> ", "access": "INTERNAL"}))).unwrap();
        assert_eq!(body["comment_html"], "<p>a</p>");
        for bad in ["<script>x</script>", "a\u{0}b"] {
            let refusal = sanitise(given(json!({"comment_html": bad}))).unwrap_err();
            assert_eq!(refusal.status(), 400, "{bad}");
        }
        assert_eq!(sanitise(given(json!({}))), Ok(given(json!({}))));
    }

    #[test]
    fn a_refused_pair_moves_to_the_overlay() {
        let body = given(json!({"comment_html": "x", "external_id": "k", "external_source": null}));
        let mut outgoing = Outgoing { body, ..Outgoing::default() };
        keep_pair(&mut outgoing);
        assert_eq!(Value::Object(outgoing.body), json!({"comment_html": "x"}));
        assert_eq!(Value::Object(outgoing.overlay), json!({"external_id": "k", "external_source": null}));
    }
}

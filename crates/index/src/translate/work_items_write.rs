//! Writes of work items: what may be sent, what v1's refusals mean, and whether v1 did what was asked.
//!
//! Only keys v1 is known to honour leave this file (traps 14, 17, 18); `type_id` never does (trap 31).
//!
//! May use: `plan`, `refusal`, `v2` bodies, this folder.

use super::work_items::Item;
use super::{confirm, html};
use crate::plan::{Field, Resource, ValueType};
use crate::refusal::{FieldError, Refusal};
use crate::v2::body::Given;
use crate::v2::value;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// Members that can be given by name or by id, never both.
const PAIRS: [(&str, &str); 6] = [
    ("state", "state_id"),
    ("type", "type_id"),
    ("parent", "parent_id"),
    ("assignees", "assignee_ids"),
    ("labels", "label_ids"),
    ("estimate", "estimate_point_id"),
];
/// What v1 takes for "nothing written"; it refuses empty and blank texts (trap 32, `items_create_html_empty`).
const NO_TEXT: &str = "<p></p>";
/// v1's sentences about the whole body, and the member each is about (`items_create_start_after_target`,
/// `items_create_state_other_project`, `items_create_parent_other_project`, `estimates_create_foreign_point`,
/// `items_create_html_xml_declaration`).
const SENTENCES: [(&str, &str); 5] = [
    ("Start date cannot exceed target date", "target_date"),
    ("State is not valid please pass a valid state_id", "state_id"),
    ("Parent is not valid issue_id please pass a valid issue_id", "parent_id"),
    ("Estimate point is not valid please pass a valid estimate_point_id", "estimate_point_id"),
    ("Invalid HTML passed", "description_html"),
];

/// Checks the members against each other and takes over those that need no look-up, in v1 names.
///
/// # Errors
/// `validation_error` with every fault.
pub fn plain(resource: &Resource, given: &Given) -> Result<Map<String, Value>, Refusal> {
    let mut errors = faults_between(given);
    // Where both sides have one name, they have one meaning.
    let plain = written(resource).filter(|(field, v1)| field.name == *v1);
    let mut body: Map<String, Value> =
        plain.filter_map(|(_, v1)| Some((v1.to_owned(), given.get(v1)?.clone()))).collect();
    match given.get("description_html").and_then(Value::as_str).map(description) {
        Some(Ok(text)) => drop(body.insert("description_html".into(), text.into())),
        Some(Err(message)) => errors.push(FieldError::new("description_html", message)),
        None => {}
    }
    if errors.is_empty() { Ok(body) } else { Err(Refusal::fields(errors)) }
}

/// Fields that are written, with their v1 names.
fn written(resource: &Resource) -> impl Iterator<Item = (&Field, &str)> {
    let written = resource.fields.iter().filter(|field| !field.spec.read_only);
    written.filter_map(|field| Some((field, field.spec.v1.as_deref()?)))
}

/// Fields that are sets, with their v1 names.
fn sets(resource: &Resource) -> impl Iterator<Item = (&str, &str)> {
    let sets = written(resource).filter(|(field, _)| matches!(field.value, ValueType::Array(_)));
    sets.map(|(field, v1)| (field.name.as_str(), v1))
}

/// Faults of members that pass by themselves: two that exclude each other, and names that are no texts.
pub fn faults_between(given: &Given) -> Vec<FieldError> {
    let mut errors = both_of_a_pair(given);
    errors.extend(names_that_are_no_texts(given));
    errors
}

fn both_of_a_pair(given: &Given) -> Vec<FieldError> {
    let pairs = PAIRS.iter().filter(|(name, id)| given.contains_key(*name) && given.contains_key(*id));
    let each = |a: &str, b: &str| FieldError::new(a, format!("cannot be sent together with {b}"));
    pairs.flat_map(|(name, id)| [each(name, id), each(id, name)]).collect()
}

fn names_that_are_no_texts(given: &Given) -> Vec<FieldError> {
    let labels = given.get("labels").and_then(Value::as_array).into_iter().flatten().enumerate();
    labels
        .filter(|(_, label)| !label.is_string())
        .map(|(index, _)| FieldError::new(format!("labels.{index}"), "must be a string"))
        .collect()
}

fn description(text: &str) -> Result<String, String> {
    let kept = html::sanitise(text)?;
    // Blanks may be left as entities.
    let is_blank = !kept.contains('<') && value::trimmed(&html::strip(&kept)).is_empty();
    Ok(if is_blank { NO_TEXT.to_owned() } else { kept })
}

/// Takes out what the item has already; `description_html` and the estimate point are not part of an [`Item`]
/// and stay.
pub fn keep_changes(body: &mut Map<String, Value>, item: &Item) {
    let present = item.members();
    body.retain(|key, wanted| match present.get(key) {
        Some(actual) => !same(wanted, actual),
        None => true,
    });
}

/// Members that v1 shows of an item to single reads alone, and only when they are asked for.
pub const HIDDEN: [&str; 2] = [DESCRIPTION, "estimate_point"];
const DESCRIPTION: &str = "description_html";

/// What v1 shows of an item by v1's names, with what only single reads show: the estimate, and the hash of the
/// description in place of its text, which v1 changes when it stores it.
pub fn shown(item: &Item) -> Map<String, Value> {
    let mut shown = item.members();
    if let Some(description) = item.description {
        shown.insert(DESCRIPTION.into(), json!(description));
        shown.insert("estimate_point".into(), json!(item.estimate_point));
    }
    shown
}

/// Puts the id of an expanded estimate point in its place, and tells which estimate it belongs to. Nothing is a point
/// without an id (trap 49, `items_get_expand_nulls`).
pub fn take_estimate(shown: &mut Map<String, Value>) -> Option<Uuid> {
    let point = shown.get_mut("estimate_point")?;
    let Value::Object(expanded) = point.take() else { return None };
    *point = expanded.get("id").cloned().unwrap_or_default();
    expanded.get("estimate")?.as_str().and_then(|id| Uuid::try_parse(id).ok())
}

/// What an item tells about a change of it that v1 carries out as a whole or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// It shows what was sent.
    Done,
    /// What was sent as other than before is as it was before.
    Unchanged,
    /// It shows neither, or some of both.
    Otherwise,
    /// It was read without something that decides.
    Unseen,
}

/// What `item` tells about a change by which v1 was sent `body`, where it had shown `was` before; members whose earlier
/// value is not known are not in `was`.
pub fn evidence(body: &Map<String, Value>, was: &Map<String, Value>, item: &Item) -> Evidence {
    let now = shown(item);
    if HIDDEN.iter().any(|key| body.contains_key(*key) && !now.contains_key(*key)) {
        return Evidence::Unseen;
    }
    let (mut is_as_sent, mut has_moved, mut has_stayed, mut has_set_stayed) = (true, false, false, false);
    for (key, sent) in body.iter().filter(|(key, _)| *key != DESCRIPTION) {
        let Some(now) = now.get(key) else { continue };
        let (as_sent, as_before) = (same(sent, now), was.get(key).map(|was| same(was, now)));
        has_moved |= as_sent && as_before == Some(false);
        match as_before {
            _ if as_sent => {}
            Some(true) if sent.is_array() => has_set_stayed = true,
            Some(true) => has_stayed = true,
            _ => is_as_sent &= is_part(now, sent),
        }
    }
    let description = of_description(body, was, &now);
    has_moved |= description == Some(Evidence::Done);
    match (has_moved, has_stayed) {
        (false, true) => Evidence::Unchanged,
        (true, true) => Evidence::Otherwise,
        _ if !is_as_sent => Evidence::Otherwise,
        // v1 drops people and labels without a word (trap 15), so that a set may stay although the rest was carried
        // out.
        (true, false) => Evidence::Done,
        (false, false) if has_set_stayed => Evidence::Unchanged,
        (false, false) => description.unwrap_or(Evidence::Done),
    }
}

/// What the description alone tells; none where none was sent, or the one that there was. Nobody knows how v1 stores a
/// description, so one that is another than before is the one that was sent, and it decides where nothing else does.
fn of_description(
    body: &Map<String, Value>,
    was: &Map<String, Value>,
    now: &Map<String, Value>,
) -> Option<Evidence> {
    let (sent, now) = (hash_of(body.get(DESCRIPTION)?.as_str()?), now.get(DESCRIPTION)?);
    match was.get(DESCRIPTION) {
        Some(was) if was != now => Some(Evidence::Done),
        _ if sent == *now => None,
        Some(_) => Some(Evidence::Unchanged),
        None => Some(Evidence::Otherwise),
    }
}

/// A description as [`shown`] gives it.
fn hash_of(description: &str) -> Value {
    json!(<[u8; 32]>::from(Sha256::digest(description.as_bytes())))
}

/// Whether `body` holds a parent or a set that `item` has already. v1 judges these anew: it refuses a parent that was
/// archived since (with the words of `items_create_parent_other_project`) and drops people who have left (trap 15).
pub fn repeats(resource: &Resource, body: &Map<String, Value>, item: &Item) -> bool {
    let present = item.members();
    let judged = sets(resource).map(|(_, key)| key).chain(["parent"]);
    let empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    let mut sent = judged.filter_map(|key| Some((body.get(key)?, present.get(key)?)));
    sent.any(|(wanted, actual)| !empty(wanted) && same(wanted, actual))
}

/// Whether `actual` is a set that holds nothing but elements of `wanted`.
fn is_part(actual: &Value, wanted: &Value) -> bool {
    match (actual, wanted) {
        (Value::Array(actual), Value::Array(wanted)) => actual.iter().all(|element| wanted.contains(element)),
        _ => false,
    }
}

fn same(wanted: &Value, actual: &Value) -> bool {
    match (wanted, actual) {
        (Value::Array(a), Value::Array(b)) => confirm::is_same_set(a, b),
        (a, b) => a == b,
    }
}

/// Fields (v2 names) that v1 does not show as they were sent, and those it does.
pub fn check<'r>(
    resource: &'r Resource,
    sent: &Map<String, Value>,
    shown: &Map<String, Value>,
) -> confirm::Checked<'r> {
    let mut checked = confirm::check(resource, sent, shown);
    if let (Some(wanted), Some(actual)) = (sent.get("estimate_point"), shown.get("estimate_point")) {
        let names = if wanted == actual { &mut checked.kept } else { &mut checked.lost };
        names.push("estimate_point_id");
    }
    checked
}

/// Members of which v1's answer tells nothing, or nothing that can be compared; they are stored when it took the rest.
const UNCOMPARED: [&str; 4] = [DESCRIPTION, "type", "type_id", "custom_fields"];

/// Success when v1 shows everything that an update sent, `body` of what the client had `given`.
///
/// # Errors
/// [`Refusal::OutcomeUnknown`] naming what was stored, what not, and the sets that there are now.
pub fn confirm_update(
    resource: &Resource,
    given: &Given,
    body: &Map<String, Value>,
    shown: &Map<String, Value>,
) -> Result<(), Refusal> {
    let mut checked = check(resource, body, shown);
    checked.kept.extend(UNCOMPARED.into_iter().filter(|name| given.contains_key(*name)));
    let lost = |field: &str| checked.lost.contains(&field);
    let now: String = sets(resource)
        .filter(|(field, _)| lost(field))
        .filter_map(|(field, v1)| Some(format!(" {field} is now {}.", shown.get(v1)?)))
        .collect();
    checked.confirm(resource).map_err(|refusal| match refusal {
        Refusal::OutcomeUnknown { detail, cause, timed_out } => {
            Refusal::OutcomeUnknown { detail: detail + &now, cause, timed_out }
        }
        refusal => refusal,
    })
}

/// v1's refusal of a write, about the members the client sent: the name form where the name was given.
pub fn refusal(given: &Given, refusal: Refusal) -> Refusal {
    let Refusal::Validation { detail, errors } = refusal else { return refusal };
    if errors.is_empty() {
        let about = SENTENCES.iter().find(|(sentence, _)| *sentence == detail);
        return match about {
            Some((sentence, field)) => Refusal::field(as_sent(given, field), *sentence),
            None => Refusal::Validation { detail, errors },
        };
    }
    let renamed = errors.into_iter().map(|error| FieldError::new(as_sent(given, &error.field), error.message));
    Refusal::fields(renamed.collect::<Vec<_>>())
}

/// The member the client sent for `field`, which may carry an index.
pub fn as_sent(given: &Given, field: &str) -> String {
    let (base, index) = field.split_at(field.find('.').unwrap_or(field.len()));
    let base = if base == "estimate_point" { "estimate_point_id" } else { base };
    let name = PAIRS.iter().find(|(name, id)| *id == base && given.contains_key(*name)).map(|(name, _)| *name);
    format!("{}{index}", name.unwrap_or(base))
}

/// The sets of which v1 dropped elements (trap 15), an entry each; none when nothing or something else was lost.
pub fn dropped_sets(
    resource: &Resource,
    given: &Given,
    sent: &Map<String, Value>,
    shown: &Map<String, Value>,
    lost: &[&str],
) -> Option<Vec<FieldError>> {
    let is_set = |shown: Option<&Value>| {
        let elements = shown.and_then(Value::as_array);
        elements
            .is_some_and(|all| all.iter().all(|id| id.as_str().is_some_and(|id| value::read_uuid(id).is_some())))
    };
    // What is no set of ids says nothing about what was dropped.
    if !lost.iter().all(|field| sets(resource).any(|(set, key)| set == *field && is_set(shown.get(key)))) {
        return None;
    }
    let value = |of: &Map<String, Value>, key: &str| of.get(key).cloned().unwrap_or_default();
    let errors: Vec<FieldError> = sets(resource)
        .filter(|(set, key)| lost.contains(set) && value(sent, key).as_array().is_some_and(|sent| !sent.is_empty()))
        .map(|(set, key)| dropped(given, set, &value(sent, key), &value(shown, key)))
        .collect();
    (!errors.is_empty()).then_some(errors)
}

/// Whether `sent` holds a set of which v1 may drop something without a word (trap 15).
pub fn may_drop(resource: &Resource, sent: &Map<String, Value>) -> bool {
    sets(resource).any(|(_, key)| sent.contains_key(key))
}

/// The body that puts back what `sent` changed; none when it holds something an [`Item`] does not know, or v1 does not
/// take: no state.
pub fn undoing(sent: &Map<String, Value>, before: &Item) -> Option<Map<String, Value>> {
    let present = before.members();
    let earlier = |key: &String| present.get(key).filter(|value| key != "state" || **value != json!(Uuid::nil()));
    sent.keys().map(|key| Some((key.clone(), earlier(key)?.clone()))).collect()
}

/// What of a set v1 dropped (trap 15), as the client named it: `sent` are the ids in the order of the member.
fn dropped(given: &Given, field: &str, sent: &Value, shown: &Value) -> FieldError {
    let member = as_sent(given, field);
    let named = given.get(&member).and_then(Value::as_array);
    let kept = |id: &Value| shown.as_array().is_some_and(|shown| shown.contains(id));
    let ids = sent.as_array().into_iter().flatten().enumerate().filter(|(_, id)| !kept(id));
    let lost: Vec<&str> =
        ids.filter_map(|(index, id)| named.and_then(|named| named.get(index)).unwrap_or(id).as_str()).collect();
    FieldError::new(member, format!("cannot be given to a work item of this project: {}", lost.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::super::work_items::Priority;
    use super::*;

    fn given(value: Value) -> Given {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn v1s_sentences_name_the_member_that_was_sent() {
        let told = Refusal::invalid("State is not valid please pass a valid state_id");
        let named = refusal(&given(json!({"state": "Done"})), told);
        assert!(matches!(named, Refusal::Validation { errors, .. } if errors[0].field == "state"));
        let told = Refusal::field("estimate_point", "x");
        let named = refusal(&given(json!({})), told);
        assert!(matches!(named, Refusal::Validation { errors, .. } if errors[0].field == "estimate_point_id"));
    }

    #[test]
    fn dropped_elements_are_named_as_they_were_sent() {
        let given = given(json!({"assignees": ["bob@x", "gil@x"]}));
        let error = dropped(&given, "assignee_ids", &json!(["1", "2"]), &json!(["1"]));
        assert_eq!((error.field.as_str(), error.message.contains("gil@x")), ("assignees", true));
        assert!(!error.message.contains("bob@x"));
    }

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    fn row(name: &str, state: Option<Uuid>, description: &str) -> Item {
        let row = json!({"id": Uuid::nil(), "name": name, "sequence_id": 1, "priority": "none", "state": state,
            "parent": null, "assignees": [], "labels": [], "start_date": null, "target_date": null,
            "is_draft": false, "archived_at": null, "created_at": "2026-11-25T10:00:00Z",
            "updated_at": "2026-11-25T10:00:00Z", "created_by": null, "sort_order": 1.0, "external_id": null,
            "external_source": null, "description_html": description, "estimate_point": null});
        super::super::work_items::read(&row.to_string()).unwrap()
    }

    #[test]
    fn no_state_cannot_be_put_back() {
        let sent = object(json!({"priority": "high", "state": Uuid::from_u128(2)}));
        let before = row("old", Some(Uuid::from_u128(1)), "");
        let undo = json!({"priority": "none", "state": Uuid::from_u128(1)});
        assert_eq!(undoing(&sent, &before), Some(object(undo)));
        let before = row("old", None, "");
        assert_eq!(undoing(&sent, &before), None);
        assert_eq!(
            undoing(&object(json!({"priority": "high"})), &before),
            Some(object(json!({"priority": "none"})))
        );
    }

    #[test]
    fn what_a_change_left_decides_what_became_of_it() {
        let row = |name: &str, description: &str| row(name, Some(Uuid::from_u128(1)), description);
        let was = shown(&row("old", "<p>old</p>"));
        let with = |name: &str, people: Value, item: Item| {
            let people = serde_json::from_value(people).unwrap();
            Item { name: name.into(), assignees: people, ..item }
        };
        let unread = Item { description: None, ..row("old", "") };
        let told = |body: Value, item: &Item| evidence(&object(body), &was, item);
        let both = json!({"name": "new", "description_html": "<p>a</p><p>b</p>"});
        // v1 stores a description of two parts in another form.
        assert_eq!(told(both.clone(), &row("new", "<div><p>a</p><p>b</p></div>")), Evidence::Done);
        assert_eq!(told(both.clone(), &row("old", "<p>old</p>")), Evidence::Unchanged);
        assert_eq!(told(both.clone(), &row("third", "<p>old</p>")), Evidence::Otherwise);
        assert_eq!(told(both, &unread), Evidence::Unseen);
        // The description that there was is sent once more, which changes nothing of it.
        let same = json!({"name": "new", "description_html": "<p>old</p>"});
        assert_eq!(told(same.clone(), &row("new", "<p>old</p>")), Evidence::Done);
        assert_eq!(told(same, &row("old", "<p>old</p>")), Evidence::Unchanged);
        let alone = json!({"description_html": "<p>a</p><p>b</p>"});
        assert_eq!(told(alone.clone(), &row("old", "<div><p>a</p><p>b</p></div>")), Evidence::Done);
        assert_eq!(told(alone, &row("third", "<p>old</p>")), Evidence::Unchanged);
        // v1 drops people who have left.
        let (ada, dan) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let people = json!({"name": "new", "assignees": [ada, dan]});
        let shows = |name: &str, people: Value| with(name, people, row("old", ""));
        assert_eq!(told(people.clone(), &shows("new", json!([]))), Evidence::Done);
        assert_eq!(told(people.clone(), &shows("new", json!([ada]))), Evidence::Done);
        assert_eq!(told(people.clone(), &shows("old", json!([]))), Evidence::Unchanged);
        assert_eq!(told(people, &shows("new", json!([Uuid::nil()]))), Evidence::Otherwise);
        // One of two members was put back by somebody else, or the other one set.
        let two = json!({"name": "new", "priority": "high"});
        assert_eq!(told(two, &Item { priority: Priority::High, ..row("old", "") }), Evidence::Otherwise);
    }
}

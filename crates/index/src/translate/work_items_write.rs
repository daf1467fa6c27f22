//! Writes of work items: the members to send, the meaning of v1's refusals, and the check whether v1 did as asked.
//!
//! This file sends only keys that v1 is known to use (traps 14, 17, 18), and never `type_id` (trap 31).
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
/// The text that v1 accepts for "nothing written"; v1 rejects empty and blank texts (trap 32,
/// `items_create_html_empty`).
const NO_TEXT: &str = "<p></p>";
/// v1's sentences about the whole body, and the member that each is about (`items_create_start_after_target`,
/// `items_create_state_other_project`, `items_create_parent_other_project`, `estimates_create_foreign_point`,
/// `items_create_html_xml_declaration`).
const SENTENCES: [(&str, &str); 5] = [
    ("Start date cannot exceed target date", "target_date"),
    ("State is not valid please pass a valid state_id", "state_id"),
    ("Parent is not valid issue_id please pass a valid issue_id", "parent_id"),
    ("Estimate point is not valid please pass a valid estimate_point_id", "estimate_point_id"),
    ("Invalid HTML passed", "description_html"),
];

/// Checks the members against each other and copies those that need no lookup, in v1 names.
///
/// # Errors
/// `validation_error` with every fault.
pub fn plain(resource: &Resource, given: &Given) -> Result<Map<String, Value>, Refusal> {
    let mut errors = faults_between(given);
    // Members with the same name in v1 and v2 have the same meaning.
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

/// Fields that clients can write, with their v1 names.
fn written(resource: &Resource) -> impl Iterator<Item = (&Field, &str)> {
    let written = resource.fields.iter().filter(|field| !field.spec.read_only);
    written.filter_map(|field| Some((field, field.spec.v1.as_deref()?)))
}

/// Writable fields that are sets, with their v1 names.
fn sets(resource: &Resource) -> impl Iterator<Item = (&str, &str)> {
    let sets = written(resource).filter(|(field, _)| matches!(field.value, ValueType::Array(_)));
    sets.map(|(field, v1)| (field.name.as_str(), v1))
}

/// Finds faults of members that are valid alone: two that exclude each other, and names that are no strings.
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
    // Entities for blanks may be all that is left.
    let is_blank = !kept.contains('<') && value::trimmed(&html::strip(&kept)).is_empty();
    Ok(if is_blank { NO_TEXT.to_owned() } else { kept })
}

/// Removes the values that the item already has. `description_html` and the estimate point are not part of an [`Item`]
/// and stay.
pub fn keep_changes(body: &mut Map<String, Value>, item: &Item) {
    let present = item.members();
    body.retain(|key, wanted| match present.get(key) {
        Some(actual) => !same(wanted, actual),
        None => true,
    });
}

/// Members that v1 shows only in single reads, and only when they are requested.
pub const HIDDEN: [&str; 2] = [DESCRIPTION, "estimate_point"];
const DESCRIPTION: &str = "description_html";

/// Returns the members of an item in v1 names, with those that only single reads show: the estimate, and the
/// description's hash instead of its text, because v1 changes the text when it stores it.
pub fn shown(item: &Item) -> Map<String, Value> {
    let mut shown = item.members();
    if let Some(description) = item.description {
        shown.insert(DESCRIPTION.into(), json!(description));
        shown.insert("estimate_point".into(), json!(item.estimate_point));
    }
    shown
}

/// Replaces an expanded estimate point by its id, and returns the estimate to which it belongs. A point without an id
/// counts as no point (trap 49, `items_get_expand_nulls`).
pub fn take_estimate(shown: &mut Map<String, Value>) -> Option<Uuid> {
    let point = shown.get_mut("estimate_point")?;
    let Value::Object(expanded) = point.take() else { return None };
    *point = expanded.get("id").cloned().unwrap_or_default();
    expanded.get("estimate")?.as_str().and_then(|id| Uuid::try_parse(id).ok())
}

/// State of an item after a change that v1 carries out as a whole or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// It shows what was sent.
    Done,
    /// The values that the change was to replace are still as before.
    Unchanged,
    /// It shows neither of the two, or a mixture.
    Otherwise,
    /// It was read without a member that decides.
    Unseen,
}

/// Returns what `item` shows about a change for which v1 was sent `body`. `was` are the values that v1 had shown
/// before; members with an unknown earlier value are not in `was`.
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
        // v1 drops people and labels silently (trap 15). So a set may be unchanged although the rest was carried
        // out.
        (true, false) => Evidence::Done,
        (false, false) if has_set_stayed => Evidence::Unchanged,
        (false, false) => description.unwrap_or(Evidence::Done),
    }
}

/// Returns what the description alone shows; none when no description was sent, or the same one as before. The form in
/// which v1 stores a description is unknown. So a description that differs from the earlier one counts as the sent one;
/// it decides where nothing else does.
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

/// Returns the hash of a description, in the form of [`shown`].
fn hash_of(description: &str) -> Value {
    json!(<[u8; 32]>::from(Sha256::digest(description.as_bytes())))
}

/// Checks whether `body` has a parent or a set that the item already has. v1 checks them again: it rejects a parent
/// that was archived since (with the words of `items_create_parent_other_project`) and drops people who have left (trap
/// 15).
pub fn repeats(resource: &Resource, body: &Map<String, Value>, item: &Item) -> bool {
    let present = item.members();
    let judged = sets(resource).map(|(_, key)| key).chain(["parent"]);
    let empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    let mut sent = judged.filter_map(|key| Some((body.get(key)?, present.get(key)?)));
    sent.any(|(wanted, actual)| !empty(wanted) && same(wanted, actual))
}

/// Checks whether `actual` is a set that has only elements of `wanted`.
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

/// Sorts the sent fields (v2 names) into those that v1 shows as sent and those that it does not.
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

/// Members that v1's answer does not show in a comparable form. They count as stored when v1 accepted the rest.
const UNCOMPARED: [&str; 4] = [DESCRIPTION, "type", "type_id", "custom_fields"];

/// Succeeds when v1 shows everything that an update sent; `body` was sent for the client's body `given`.
///
/// # Errors
/// [`Refusal::OutcomeUnknown`], naming what was stored, what was not, and the present sets.
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

/// Assigns v1's refusal to the members that the client sent: in the name form where the client sent the name, and by
/// `SENTENCES` where v1 has only a sentence.
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

/// Like [`refusal`], for an update of `item`. Without a source there is no pair, but for v1's database no source is the
/// same as no source: it refuses the `external_id` of another item without a source (trap 38).
pub fn refusal_of_update(given: &Given, item: &Item, about: Refusal) -> Refusal {
    let source = match given.get("external_source") {
        Some(sent) => sent.as_str(),
        None => item.external_source.as_deref(),
    };
    match about {
        Refusal::Conflict { .. } if source.is_none_or(|source| value::trimmed(source).is_empty()) => {
            Refusal::Conflict { detail: TAKEN_WITHOUT_SOURCE.into() }
        }
        about => refusal(given, about),
    }
}

const TAKEN_WITHOUT_SOURCE: &str = "The backend refuses this external_id: another work item of this project has it, \
                                    and no external_source either. Send an external_source with it.";

/// Returns the member that the client sent for `field`, which may end with an index.
pub fn as_sent(given: &Given, field: &str) -> String {
    let (base, index) = field.split_at(field.find('.').unwrap_or(field.len()));
    let base = if base == "estimate_point" { "estimate_point_id" } else { base };
    let name = PAIRS.iter().find(|(name, id)| *id == base && given.contains_key(*name)).map(|(name, _)| *name);
    format!("{}{index}", name.unwrap_or(base))
}

/// Returns an error for each set from which v1 dropped elements (trap 15); none when nothing or something else was
/// lost.
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
    // A value that is no set of ids does not show what was dropped.
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

/// Checks whether `sent` has a set from which v1 may drop elements silently (trap 15).
pub fn may_drop(resource: &Resource, sent: &Map<String, Value>) -> bool {
    sets(resource).any(|(_, key)| sent.contains_key(key))
}

/// Returns the body that undoes `sent`. None when `sent` has a member that an [`Item`] does not know, or when the
/// earlier value is one that v1 does not accept: no state.
pub fn undoing(sent: &Map<String, Value>, before: &Item) -> Option<Map<String, Value>> {
    let present = before.members();
    let earlier = |key: &String| present.get(key).filter(|value| key != "state" || **value != json!(Uuid::nil()));
    sent.keys().map(|key| Some((key.clone(), earlier(key)?.clone()))).collect()
}

/// Returns an error with the elements that v1 dropped from a set (trap 15), as the client named them. `sent` are the
/// ids in the order of the member, each once.
fn dropped(given: &Given, field: &str, sent: &Value, shown: &Value) -> FieldError {
    let member = as_sent(given, field);
    let ids = sent.as_array().map_or(0, Vec::len);
    // With repetitions, which were not sent, the places differ. Then ids are shown.
    let named = given.get(&member).and_then(Value::as_array).filter(|named| named.len() == ids);
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
        let given = object(json!({"assignees": ["bob@x", "BOB@x", "gil@x"]}));
        let error = dropped(&given, "assignee_ids", &json!(["1", "2"]), &json!(["1"]));
        assert!(error.message.ends_with(": 2"), "{}", error.message);
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
    fn the_item_after_a_change_decides_the_outcome_of_the_change() {
        let row = |name: &str, description: &str| row(name, Some(Uuid::from_u128(1)), description);
        let was = shown(&row("old", "<p>old</p>"));
        let with = |name: &str, people: Value, item: Item| {
            let people = serde_json::from_value(people).unwrap();
            Item { name: name.into(), assignees: people, ..item }
        };
        let unread = Item { description: None, ..row("old", "") };
        let told = |body: Value, item: &Item| evidence(&object(body), &was, item);
        let both = json!({"name": "new", "description_html": "<p>a</p><p>b</p>"});
        // v1 stores a description of two parts in another form than it was sent.
        assert_eq!(told(both.clone(), &row("new", "<div><p>a</p><p>b</p></div>")), Evidence::Done);
        assert_eq!(told(both.clone(), &row("old", "<p>old</p>")), Evidence::Unchanged);
        assert_eq!(told(both.clone(), &row("third", "<p>old</p>")), Evidence::Otherwise);
        assert_eq!(told(both, &unread), Evidence::Unseen);
        // The earlier description is sent again, which does not change it.
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
        // Another client has put back one of two members, or has set the other one.
        let two = json!({"name": "new", "priority": "high"});
        assert_eq!(told(two, &Item { priority: Priority::High, ..row("old", "") }), Evidence::Otherwise);
    }
}

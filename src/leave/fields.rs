//! Which fields of a record are carried, as tables, and how two records are compared.
//!
//! Both sides are compared in the read shape of v2. Fields that are in no table are the service's own: ids, instants of
//! creation, icons, and place numbers of options, of which the order counts and not the number. May use: `store`
//! (equality of values), this folder.

use super::ids::Kind;
use crate::store::overlay_wins;
use serde_json::{Map, Value, json};

/// What can be done about a field that differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Written,
    /// It follows from something else when the record is made, and stays.
    Made,
}

use How::{Made, Written};

const FEATURES: [(&str, How); 11] = [
    ("is_work_item_types_enabled", Written),
    ("work_item_type_default_level", Written),
    ("is_workitem_hierarchy_enabled", Written),
    ("is_project_grouping_enabled", Written),
    ("is_teams_enabled", Written),
    ("is_wiki_enabled", Written),
    ("is_initiative_enabled", Written),
    ("is_customer_enabled", Written),
    ("is_release_enabled", Written),
    ("is_state_duration_enabled", Written),
    ("is_pi_enabled", Written),
];
/// The default of its owner is moved by an operation of its own, the external pair is never read back.
const TYPE: [(&str, How); 5] =
    [("name", Written), ("description", Written), ("is_active", Written), ("is_epic", Made), ("level", Made)];
/// Options are records of their own.
const PROPERTY: [(&str, How); 13] = [
    ("name", Made),
    ("display_name", Written),
    ("description", Written),
    ("property_type", Written),
    ("relation_type", Written),
    ("is_required", Written),
    ("is_multi", Written),
    ("is_active", Written),
    ("default_value", Written),
    ("settings", Written),
    ("validation_rules", Written),
    ("external_id", Written),
    ("external_source", Written),
];
/// `is_default` of an option of the workspace is what its context says.
const OPTION: [(&str, How); 5] = [
    ("name", Written),
    ("description", Written),
    ("is_default", Written),
    ("external_id", Written),
    ("external_source", Written),
];
/// `is_default` marks the context that came with the property, without effect.
const CONTEXT: [(&str, How); 13] = [
    ("name", Written),
    ("applies_to_all_projects", Written),
    ("project_ids", Written),
    ("applies_to_all_work_item_types", Written),
    ("issue_type_ids", Written),
    ("is_required", Written),
    ("is_multi", Written),
    ("default_value", Written),
    ("settings", Written),
    ("sort_order", Written),
    ("external_id", Written),
    ("external_source", Written),
    ("options", Written),
];

/// Fields that are sent together when one of them is.
const TOGETHER: [&[&str]; 4] = [
    &["external_id", "external_source"],
    &["property_type", "relation_type"],
    &["applies_to_all_projects", "project_ids"],
    &["applies_to_all_work_item_types", "issue_type_ids"],
];

fn table(kind: Kind) -> &'static [(&'static str, How)] {
    match kind {
        Kind::Features => &FEATURES,
        Kind::Type => &TYPE,
        Kind::Property => &PROPERTY,
        Kind::Option => &OPTION,
        Kind::Context => &CONTEXT,
        _ => &[],
    }
}

/// A field that is not alike.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Difference {
    pub(super) field: &'static str,
    pub(super) how: How,
    pub(super) ours: Value,
    pub(super) theirs: Value,
}

impl Difference {
    pub(super) fn told(&self) -> String {
        format!("{} is {} here and {} there", self.field, short(&self.ours), short(&self.theirs))
    }
}

pub(super) fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// What is not alike, of the fields that `ours` has.
pub(super) fn differences(kind: Kind, ours: &Map<String, Value>, theirs: &Map<String, Value>) -> Vec<Difference> {
    let of =
        |record: &Map<String, Value>, field: &str| comparable(field, record.get(field).unwrap_or(&Value::Null));
    let compared = table(kind).iter().filter(|(field, _)| ours.contains_key(*field));
    let pairs = compared.map(|(field, how)| (field, how, of(ours, field), of(theirs, field)));
    let unlike = pairs.filter(|(_, _, ours, theirs)| !overlay_wins(ours, theirs));
    unlike.map(|(field, how, ours, theirs)| Difference { field, how: *how, ours, theirs }).collect()
}

/// Lists of ids are sets, and of the options of a context only which ones, in which order and which is preselected.
fn comparable(field: &str, value: &Value) -> Value {
    match (field, value.as_array()) {
        ("project_ids" | "issue_type_ids", Some(ids)) => {
            let mut ids: Vec<&str> = ids.iter().filter_map(Value::as_str).collect();
            ids.sort_unstable();
            json!(ids)
        }
        ("options", Some(options)) => options
            .iter()
            .map(|option| json!({"id": option["id"], "is_default": option["is_default"] == true}))
            .collect(),
        _ => value.clone(),
    }
}

/// The body of an update that makes these alike; none when none of them can be written.
pub(super) fn update(ours: &Map<String, Value>, differences: &[Difference]) -> Option<Map<String, Value>> {
    let unlike: Vec<&str> = differences.iter().filter(|one| one.how == Written).map(|one| one.field).collect();
    let mut fields: Vec<&str> = unlike.clone();
    for group in TOGETHER {
        if group.iter().any(|field| unlike.contains(field)) {
            fields.extend(group.iter().filter(|field| !unlike.contains(field)));
        }
    }
    let mut body = Map::new();
    for field in fields {
        if let Some(value) = ours.get(field) {
            body.insert(field.to_owned(), value.clone());
        }
    }
    without_lists_under_flags(&mut body);
    (!body.is_empty()).then_some(body)
}

/// The body that makes the record: what can be written, nulls aside.
pub(super) fn create(kind: Kind, ours: &Map<String, Value>) -> Map<String, Value> {
    let written = table(kind).iter().filter(|(_, how)| *how == Written);
    let values = written.filter_map(|(field, _)| Some(((*field).to_owned(), ours.get(*field)?.clone())));
    let mut body: Map<String, Value> = values.filter(|(_, value)| !value.is_null()).collect();
    without_lists_under_flags(&mut body);
    body
}

/// A list must not come with its flag.
fn without_lists_under_flags(body: &mut Map<String, Value>) {
    let axes = [("applies_to_all_projects", "project_ids"), ("applies_to_all_work_item_types", "issue_type_ids")];
    for (flag, list) in axes {
        if body.get(flag).is_some_and(|flag| *flag == true) {
            body.remove(list);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn only_what_is_carried_counts_and_lists_of_ids_are_sets() {
        let ours = map(json!({"id": 1, "name": "a", "project_ids": ["p", "q"], "sort_order": 65535,
            "options": [{"id": "o", "name": "x", "is_default": true, "sort_order": 1}]}));
        let mut theirs = map(json!({"id": 2, "name": "a", "project_ids": ["q", "p"], "sort_order": 65535.0,
            "options": [{"id": "o", "name": "y", "is_default": true, "sort_order": 2}]}));
        assert_eq!(differences(Kind::Context, &ours, &theirs), []);
        theirs["options"][0]["is_default"] = json!(false);
        theirs["name"] = json!("b");
        let found = differences(Kind::Context, &ours, &theirs);
        assert_eq!(found.iter().map(|one| one.field).collect::<Vec<_>>(), ["name", "options"]);
        assert_eq!(found[0].told(), "name is \"a\" here and \"b\" there");
    }

    #[test]
    fn what_belongs_together_is_sent_together_and_no_list_under_its_flag() {
        let ours = map(json!({"applies_to_all_projects": true, "project_ids": [], "external_id": "1",
            "external_source": "jira", "name": "a"}));
        let theirs = map(json!({"applies_to_all_projects": false, "project_ids": ["p"], "external_id": null,
            "external_source": "jira", "name": "a"}));
        let body = update(&ours, &differences(Kind::Context, &ours, &theirs)).unwrap();
        let expected = json!({"applies_to_all_projects": true, "external_id": "1", "external_source": "jira"});
        assert_eq!(Value::Object(body), expected);
        let made = map(json!({"name": "a", "level": 3}));
        let there = map(json!({"name": "a", "level": 1}));
        assert_eq!(update(&made, &differences(Kind::Type, &made, &there)), None);
    }
}

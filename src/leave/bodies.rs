//! Request bodies that create a record in the target, or make it equal to ours. May use: this folder.

use super::differences::Difference;
use super::fields::Correction::Written;
use super::fields::table;
use super::ids::Kind;
use serde_json::{Map, Value};

/// Groups of fields that are sent together: when one field is sent, all fields of its group are.
const TOGETHER: [&[&str]; 4] = [
    &["external_id", "external_source"],
    &["property_type", "relation_type"],
    &["applies_to_all_projects", "project_ids"],
    &["applies_to_all_work_item_types", "issue_type_ids"],
];

/// Builds the body of an update that removes the differences; `None` when no differing field can be written.
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

/// Builds the body that creates the record: the writable fields that are not null.
pub(super) fn create(kind: Kind, ours: &Map<String, Value>) -> Map<String, Value> {
    let written = table(kind).iter().filter(|(_, how)| *how == Written);
    let values = written.filter_map(|(field, _)| Some(((*field).to_owned(), ours.get(*field)?.clone())));
    let mut body: Map<String, Value> = values.filter(|(_, value)| !value.is_null()).collect();
    without_lists_under_flags(&mut body);
    body
}

/// Removes each list whose flag is true, because a list must not be sent with its flag.
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
    use crate::leave::differences::differences;
    use serde_json::{Value, json};

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn related_members_are_sent_together_without_a_list_that_a_flag_replaces() {
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

//! Differences between two records in the carried fields. Both sides are compared in the read shape of v2. May use:
//! `store` (equality of values), this folder.

use super::fields::{Correction, table};
use super::ids::Kind;
use crate::store::overlay_wins;
use serde_json::{Map, Value, json};

/// A field with different values on the two sides.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Difference {
    pub(super) field: &'static str,
    pub(super) how: Correction,
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

/// Returns the carried fields of `ours` that differ from `theirs`.
pub(super) fn differences(kind: Kind, ours: &Map<String, Value>, theirs: &Map<String, Value>) -> Vec<Difference> {
    let of =
        |record: &Map<String, Value>, field: &str| comparable(field, record.get(field).unwrap_or(&Value::Null));
    let compared = table(kind).iter().filter(|(field, _)| ours.contains_key(*field));
    let pairs = compared.map(|(field, how)| (field, how, of(ours, field), of(theirs, field)));
    let unlike = pairs.filter(|(_, _, ours, theirs)| !overlay_wins(ours, theirs));
    unlike.map(|(field, how, ours, theirs)| Difference { field, how: *how, ours, theirs }).collect()
}

/// Prepares a value for the comparison. Lists of ids are compared as sets. Of a context's options, only their ids,
/// their order and which one is preselected are compared.
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
}

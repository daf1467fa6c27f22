//! The names that may be shown in places of answers: names of the contract, and no names given by people.
//!
//! May use: `plan`.

use crate::plan::Plan;
use serde_json::Value;
use std::collections::HashSet;

/// Names of the list envelope and of problems, which are in no read shape.
const ENVELOPE: [&str; 9] =
    ["data", "next", "previous", "total_count", "next_cursor", "has_more", "pagination", "style", "code"];

/// Names of the members in the contract.
#[derive(Debug, Default)]
pub struct MemberNames(HashSet<String>);

impl MemberNames {
    /// Collects the names of the plan's fields and shapes.
    pub fn of(plan: &Plan) -> Self {
        let mut words: HashSet<String> = ENVELOPE.map(str::to_owned).into();
        for resource in &plan.resources {
            words.extend(resource.fields.iter().map(|field| field.name.clone()));
        }
        for shape in plan.shapes.values() {
            collect(&shape.schema, &mut words);
        }
        Self(words)
    }

    /// Checks whether the contract has a member with this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }
}

/// Collects the names below `properties`, at any depth of a schema.
fn collect(schema: &Value, words: &mut HashSet<String>) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::Object(properties)) = members.get("properties") {
                words.extend(properties.keys().cloned());
            }
            members.values().for_each(|inner| collect(inner, words));
        }
        Value::Array(items) => items.iter().for_each(|inner| collect(inner, words)),
        _ => {}
    }
}

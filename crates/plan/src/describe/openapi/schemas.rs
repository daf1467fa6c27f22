//! `components.schemas`: read shapes, pages of them, bodies, and the problem.
//!
//! May use: `plan`.

use super::bodies;
use crate::plan::{Plan, codes};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Envelopes of which a page schema is made for each record shape, with the suffixes of the page schemas.
const ENVELOPES: [(&str, &str); 2] = [("OffsetEnvelope", "OffsetPage"), ("CursorEnvelope", "CursorPage")];

/// Returns all schemas by name.
pub(super) fn components(plan: &Plan) -> Value {
    let mut schemas: Map<String, Value> = Map::new();
    for (name, shape) in plan.shapes.iter().filter(|(name, _)| ENVELOPES.iter().all(|(known, _)| name != known)) {
        schemas.insert(name.clone(), shape.schema.clone());
    }
    for name in responses(plan).filter(|name| !plan.shapes.contains_key(*name)) {
        schemas.insert(name.into(), json!({ "type": "object", "description": "no shape is declared" }));
    }
    if let Some(code) = schemas.get_mut("Problem").and_then(|problem| problem.pointer_mut("/properties/code")) {
        let known: Vec<&str> = codes::TABLE.iter().map(|(_, code)| *code).collect();
        code["enum"] = json!(known);
    }
    for name in listed(plan) {
        for (envelope, suffix) in ENVELOPES {
            if let Some(shape) = plan.shapes.get(envelope) {
                schemas.insert(format!("{name}{suffix}"), page(&shape.schema, name));
            }
        }
    }
    schemas.extend(bodies::components(plan));
    schemas.sort_keys();
    schemas.into()
}

fn responses(plan: &Plan) -> impl Iterator<Item = &str> {
    plan.operations.iter().filter_map(|operation| operation.response.as_deref())
}

fn listed(plan: &Plan) -> BTreeSet<&str> {
    plan.operations.iter().filter(|operation| operation.is_list()).filter_map(|o| o.response.as_deref()).collect()
}

/// Returns a reference to a schema.
pub(super) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// Returns an envelope whose rows have a shape.
fn page(envelope: &Value, name: &str) -> Value {
    let mut page = envelope.clone();
    page["properties"]["data"]["items"] = reference(name);
    page
}

/// Returns the schema of a page of `name`: either envelope; `pagination.style` tells which.
pub(super) fn either_page(name: &str) -> Value {
    json!({ "oneOf": ENVELOPES.map(|(_, suffix)| reference(&format!("{name}{suffix}"))) })
}

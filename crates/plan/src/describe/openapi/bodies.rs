//! Bodies of requests.
//!
//! Unknown members are ignored by the service, so no body is closed. May use: `plan`.

use super::examples;
use crate::plan::{BodyRule, Input, Kind, Operation, Plan, ValueType, schema};
use serde_json::{Map, Value, json};

/// The member that the contract leaves out, because its shape depends on the type of the item.
const UNDESCRIBED: &str = "custom_fields";

/// The pattern of a text that is not blank. Blanks are those of [`crate::v2::value::trimmed`]; in one dialect or
/// another, `\s` lacks some of them.
const NOT_BLANK: &str = r"[^\s\u0085\u001c-\u001f]";

/// Returns `requestBody` of an operation; `None` when it takes no body, or ignores it.
pub(super) fn of(operation: &Operation) -> Option<Value> {
    let members = members(operation)?;
    let mut media = Map::new();
    media.insert("schema".into(), json!({ "$ref": format!("#/components/schemas/{}", name(operation)) }));
    if let Some(example) = examples::body(&operation.id) {
        media.insert("example".into(), example);
    }
    // An absent body is read as an empty object.
    let required = members.iter().any(|input| input.spec.required);
    Some(json!({ "required": required, "content": { "application/json": media } }))
}

/// Returns the remark on an operation whose body has a member that is not described.
pub(super) fn remark(operation: &Operation) -> Option<&'static str> {
    let undescribed = members(operation)?.iter().any(|input| input.name == UNDESCRIBED);
    undescribed.then_some(
        "`custom_fields` is accepted too: an object keyed by property name. Its shape depends on the type of the item \
         and is described by the schema of the type.",
    )
}

/// Returns the schema of each body, by name.
pub(super) fn components(plan: &Plan) -> impl Iterator<Item = (String, Value)> {
    plan.operations
        .iter()
        .filter_map(|operation| Some((name(operation), schema(plan, operation, members(operation)?))))
}

fn members(operation: &Operation) -> Option<&[Input]> {
    match &operation.body {
        BodyRule::Members(inputs) => Some(inputs),
        BodyRule::None | BodyRule::Ignored => None,
    }
}

/// Returns the name of the schema: `labels_create` becomes `LabelsCreateBody`.
fn name(operation: &Operation) -> String {
    let mut name = String::new();
    for word in operation.id.split('_') {
        let (first, rest) = word.split_at(word.len().min(1));
        name.push_str(&first.to_ascii_uppercase());
        name.push_str(rest);
    }
    name + "Body"
}

fn schema(plan: &Plan, operation: &Operation, inputs: &[Input]) -> Value {
    let shape = plan.shapes.get(&plan.resource_of(operation).shape);
    let described = inputs.iter().filter(|input| input.name != UNDESCRIBED);
    let properties: Map<String, Value> = described
        .map(|input| {
            let refinement = shape.and_then(|shape| shape.inputs.get(&input.name));
            (input.name.clone(), member(input, refinement))
        })
        .collect();
    let required: Vec<&str> =
        inputs.iter().filter(|input| input.spec.required).map(|input| input.name.as_str()).collect();
    let mut schema = json!({ "type": "object", "description": operation.summary, "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn member(input: &Input, refinement: Option<&Value>) -> Value {
    let mut schema = schema::of_value(input.value);
    if let Some(refinement) = refinement.and_then(Value::as_object) {
        schema.extend(refinement.clone());
    }
    if input.trim {
        schema.insert("minLength".into(), 1.into());
        schema.insert("pattern".into(), NOT_BLANK.into());
    }
    if let Some(length) = input.spec.max_length {
        schema.insert("maxLength".into(), length.into());
    }
    if !input.spec.allowed.is_empty() {
        schema.insert("enum".into(), json!(input.spec.allowed));
    }
    match input.value {
        _ if input.spec.nullable => schema::admit_null(&mut schema),
        ValueType::One(Kind::Any) => drop(schema.insert("not".into(), json!({ "type": "null" }))),
        _ => {}
    }
    if let Some(default) = &input.spec.default {
        schema.insert("default".into(), default.clone());
    }
    if !input.spec.notes.is_empty() {
        schema.insert("description".into(), input.spec.notes.as_str().into());
    }
    if input.spec.write_only {
        schema.insert("writeOnly".into(), true.into());
    }
    schema.into()
}

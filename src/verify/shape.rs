//! Checks whether an answer has the shape that the plan declares. Covers the part of JSON Schema that the shapes use,
//! except limits of lengths and numbers. May use: `plan`, this folder.

use crate::plan::Plan;
use serde_json::{Map, Value};

const REFERENCE: &str = "#/components/schemas/";

/// Checks `value` against the shape called `name`.
pub(super) fn check(plan: &Plan, name: &str, value: &Value) -> Result<(), String> {
    let shape = plan.shapes.get(name).ok_or_else(|| format!("the plan has no shape {name}"))?;
    fits(plan, &shape.schema, value, name)
}

fn fits(plan: &Plan, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let Some(schema) = schema.as_object() else { return Ok(()) };
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let name = reference.strip_prefix(REFERENCE).unwrap_or(reference);
        let shape = plan.shapes.get(name).ok_or_else(|| format!("{at}: the plan has no shape {name}"))?;
        fits(plan, &shape.schema, value, at)?;
    }
    type_fits(schema, value, at)?;
    if schema.get("const").is_some_and(|wanted| wanted != value) {
        return Err(format!("{at}: {value} is not {}", schema["const"]));
    }
    if let Some(known) = schema.get("enum").and_then(Value::as_array)
        && !known.contains(value)
    {
        return Err(format!("{at}: {value} is none of the known values"));
    }
    members_fit(plan, schema, value, at)?;
    if let (Some(items), Some(elements)) = (schema.get("items"), value.as_array()) {
        for (index, element) in elements.iter().enumerate() {
            fits(plan, items, element, &format!("{at}.{index}"))?;
        }
    }
    choices_fit(plan, schema, value, at)
}

fn choices_fit(plan: &Plan, schema: &Map<String, Value>, value: &Value, at: &str) -> Result<(), String> {
    let list = |name: &str| schema.get(name).and_then(Value::as_array);
    for part in list("allOf").into_iter().flatten() {
        fits(plan, part, value, at)?;
    }
    for name in ["anyOf", "oneOf"] {
        if let Some(parts) = list(name) {
            let fitting = parts.iter().filter(|part| fits(plan, part, value, at).is_ok()).count();
            if fitting == 0 || name == "oneOf" && fitting > 1 {
                return Err(format!("{at}: fits {fitting} of the alternatives"));
            }
        }
    }
    if let Some(condition) = schema.get("if") {
        let branch = if fits(plan, condition, value, at).is_ok() { "then" } else { "else" };
        if let Some(branch) = schema.get(branch) {
            fits(plan, branch, value, at)?;
        }
    }
    Ok(())
}

fn type_fits(schema: &Map<String, Value>, value: &Value, at: &str) -> Result<(), String> {
    let is = |word: &str| match word {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    };
    let right = match schema.get("type") {
        Some(Value::String(word)) => is(word),
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).any(is),
        _ => true,
    };
    let wanted = || schema.get("type").unwrap_or(&Value::Null).to_string().replace('"', "");
    if !right {
        return Err(format!("{at}: {} where {} belongs", kind(value), wanted()));
    }
    match (schema.get("format").and_then(Value::as_str), value.as_str()) {
        (Some("uuid"), Some(text)) if uuid::Uuid::try_parse(text).is_err() => Err(format!("{at}: is no UUID")),
        (Some("date-time"), Some(text)) if text.parse::<jiff::Timestamp>().is_err() => {
            Err(format!("{at}: is no instant"))
        }
        _ => Ok(()),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn members_fit(plan: &Plan, schema: &Map<String, Value>, value: &Value, at: &str) -> Result<(), String> {
    let Some(members) = value.as_object() else { return Ok(()) };
    let properties = schema.get("properties").and_then(Value::as_object);
    for name in schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
        if !members.contains_key(name) {
            return Err(format!("{at}: lacks `{name}`"));
        }
    }
    for (name, member) in members {
        let at = format!("{at}.{name}");
        match (properties.and_then(|known| known.get(name)), schema.get("additionalProperties")) {
            (Some(schema), _) => fits(plan, schema, member, &at)?,
            (None, Some(Value::Bool(false))) => return Err(format!("{at}: does not belong there")),
            (None, Some(schema)) => fits(plan, schema, member, &at)?,
            (None, None) => {}
        }
    }
    Ok(())
}

//! The compiled plan equals the contract's table of operations, in every field, 88 of 88.

use crate::plan::support::plan;
use causeway::plan::{Answer, BodyRule, Input, Operation, Order, Param, Plan, Surface, TypeMode, ValueType};
use serde_json::{Map, Value, json};

/// Members that say where a statement of the contract comes from; they do not concern the service.
const PROVENANCE: [&str; 6] =
    ["source", "filled", "nullable_source", "allowed_source", "default_source", "cursor_source"];

fn contract() -> Vec<Value> {
    let text = include_str!("../../fixtures/contract/operations.json");
    let document: Value = serde_json::from_str(text).expect("the contract is JSON");
    document["operations"].as_array().expect("operations").iter().map(without_provenance).collect()
}

fn without_provenance(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let kept = object.iter().filter(|(key, _)| !PROVENANCE.contains(&key.as_str()));
            kept.map(|(key, value)| (key.clone(), without_provenance(value))).collect::<Map<_, _>>().into()
        }
        Value::Array(values) => values.iter().map(without_provenance).collect(),
        other => other.clone(),
    }
}

#[test]
fn every_operation_equals_the_contract_in_every_field() {
    let plan = plan();
    let contract = contract();
    let mut differences = Vec::new();
    for expected in &contract {
        let id = expected["id"].as_str().expect("id");
        match plan.operation(id) {
            Some(operation) => compare(id, &as_contract(&plan, operation), expected, &mut differences),
            None => differences.push(format!("{id}: missing")),
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert_eq!(contract.len(), 88);
    assert_eq!(plan.operations.len(), 88, "nothing beyond the contract");
}

/// Compares as sets of keys: a key on one side alone is a difference too.
fn compare(id: &str, ours: &Value, theirs: &Value, differences: &mut Vec<String>) {
    let (ours, mut theirs) = (ours.as_object().expect("object"), theirs.as_object().expect("object").clone());
    for (key, our_value) in ours {
        let their_value = theirs.shift_remove(key).map(|value| ordered(key, value));
        let our_value = ordered(key, our_value.clone());
        if their_value.as_ref() != Some(&our_value) {
            let theirs = their_value.unwrap_or_default();
            differences.push(format!("{id}.{key}:\n  plan     {our_value}\n  contract {theirs}"));
        }
    }
    differences.extend(theirs.keys().map(|key| format!("{id}.{key}: not compared with the plan")));
}

/// Query parameters are a set by name (the contract appends later choices, a list groups them by
/// purpose); every other list keeps its order.
fn ordered(key: &str, value: Value) -> Value {
    match value {
        Value::Array(mut values) if key == "query" => {
            values.sort_by_key(|param| param["name"].as_str().map(str::to_owned));
            Value::Array(values)
        }
        other => other,
    }
}

/// Returns an operation of the plan in the contract's form.
fn as_contract(plan: &Plan, operation: &Operation) -> Value {
    let mode = operation.mode.map(|mode| match mode {
        TypeMode::Project => ("project", "work_item_types_managed_at_workspace"),
        TypeMode::Workspace => ("workspace", "work_item_types_managed_at_project"),
    });
    json!({
        "id": operation.id,
        "resource": plan.resource_of(operation).name,
        "method": operation.method.as_str(),
        "path": operation.path.as_str(),
        "surface": match operation.surface {
            Surface::User => "user",
            Surface::Workspace => "workspace",
            Surface::Project => "project",
        },
        "summary": operation.summary,
        "scopes_any": operation.scopes,
        "success_status": operation.status,
        "mode_gate": mode.map(|(name, _)| name),
        "mode_gate_code": mode.map(|(_, code)| code),
        "query": operation.params.iter().map(param).collect::<Vec<_>>(),
        "search_fields": operation.search,
        "order_by": operation.order.as_ref().map(order),
        "default_ordering": operation.order.as_ref().map(|order| &order.default),
        "expand": operation.expand,
        "body": body(&operation.body),
        "response": operation.response,
        "envelope": operation.answer == Answer::Page,
        "empty_body": operation.answer == Answer::Empty,
        "errors": operation.errors.iter().map(|error| json!({
            "status": error.status,
            "code": error.code,
            "when": error.when,
        })).collect::<Vec<_>>(),
    })
}

fn both_directions(fields: &[String]) -> Vec<String> {
    fields.iter().flat_map(|field| [field.clone(), format!("-{field}")]).collect()
}

fn order(order: &Order) -> Value {
    json!({
        "allowed": both_directions(&order.allowed),
        "default": order.default,
        "on_unknown": "fallback",
        "cursor_eligible": both_directions(&order.cursor),
    })
}

fn words(value: ValueType) -> (&'static str, Option<&'static str>) {
    match value {
        ValueType::One(kind) => (kind.contract_type(), kind.contract_format()),
        ValueType::Array(kind) => ("array", kind.and_then(|kind| kind.contract_format())),
        ValueType::Csv(kind) => ("csv", kind.contract_format()),
    }
}

fn listed(allowed: &[String]) -> Value {
    if allowed.is_empty() { Value::Null } else { json!(allowed) }
}

fn param(param: &Param) -> Value {
    let (kind, format) = words(param.value);
    json!({
        "name": param.name,
        "type": kind,
        "format": format,
        "enum": listed(&param.spec.allowed),
        "default": param.spec.default,
        "max": param.spec.max,
        "notes": param.spec.notes,
    })
}

fn body(body: &BodyRule) -> Value {
    match body {
        BodyRule::None => Value::Null,
        BodyRule::Ignored => json!("ignored"),
        BodyRule::Members(inputs) => inputs.iter().map(member).collect(),
    }
}

fn member(input: &Input) -> Value {
    let (kind, format) = words(input.value);
    json!({
        "name": input.name,
        "type": kind,
        "format": format,
        "required": input.spec.required,
        "nullable": input.spec.nullable,
        "max_length": input.spec.max_length,
        "enum": listed(&input.spec.allowed),
        "default": input.spec.default,
        "write_only": input.spec.write_only,
        "notes": input.spec.notes,
    })
}

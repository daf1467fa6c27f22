//! `paths`: every operation of the plan, with its cost.
//!
//! May use: `plan`.

use super::{bodies, parameters, responses, security};
use crate::plan::{Operation, Plan};
use serde_json::{Map, Value, json};

/// Returns all operations by path and method.
pub(super) fn paths(plan: &Plan) -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for operation in &plan.operations {
        let methods = paths.entry(operation.path.as_str()).or_insert_with(|| json!({}));
        methods[operation.method.as_str().to_ascii_lowercase()] = self::operation(plan, operation);
    }
    paths.into()
}

fn operation(plan: &Plan, operation: &Operation) -> Value {
    let mut object = Map::new();
    object.insert("operationId".into(), operation.id.as_str().into());
    object.insert("tags".into(), json!([tag_name(&plan.resource_of(operation).name)]));
    object.insert("summary".into(), operation.summary.as_str().into());
    let remarks = remarks(operation);
    if !remarks.is_empty() {
        object.insert("description".into(), remarks.join("\n\n").into());
    }
    object.insert("security".into(), security::requirements(operation));
    object.insert("parameters".into(), parameters::of(plan, operation).into());
    if let Some(body) = bodies::of(operation) {
        object.insert("requestBody".into(), body);
    }
    object.insert("responses".into(), responses::of(plan, operation));
    object.insert("x-causeway-support".into(), if operation.works() { "works" } else { "not_implemented" }.into());
    if let Some(calls) = &operation.calls {
        let mut cost = json!({ "cold": calls.cold, "warm": calls.warm });
        if let Some(why) = &calls.why {
            cost["why"] = why.as_str().into();
        }
        object.insert("x-causeway-v1-calls".into(), cost);
    }
    object.into()
}

/// Returns the sentences that follow the summary.
fn remarks(operation: &Operation) -> Vec<String> {
    let mut remarks = Vec::new();
    if !operation.works() {
        remarks.push("Does not work in this version: 501 `not_implemented`.".to_owned());
    }
    remarks.extend(bodies::remark(operation).map(str::to_owned));
    if !operation.search.is_empty() {
        remarks.push(format!("`search` searches in {}.", operation.search.join(", ")));
    }
    if operation.is_list() {
        remarks.push("A query parameter that is not listed here is refused with 400.".to_owned());
    }
    remarks
}

/// Writes a name such as `work_item_comments` for people.
pub(super) fn tag_name(resource: &str) -> String {
    let mut name = resource.replace('_', " ");
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    name
}

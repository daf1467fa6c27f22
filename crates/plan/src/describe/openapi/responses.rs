//! The responses of an operation: its success, and its refusals by status.
//!
//! May use: `plan`.

use super::problems::{ANY_TIME, EVERYWHERE, PENDING, UNCHANGED, declared, problem, shared};
use super::schemas::{self, reference};
use super::{examples, headers, safe_writes};
use crate::plan::{Answer, BodyRule, ErrorCase, Method, Operation, Plan};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Returns `responses` of an operation.
pub(super) fn of(plan: &Plan, operation: &Operation) -> Value {
    let mut responses = Map::new();
    responses.insert(operation.status.to_string(), success(plan, operation));
    if safe_writes::may_be_unchanged(plan, operation) {
        responses.insert("304".into(), shared(UNCHANGED));
    }
    let added = safe_writes::refusals(plan, operation);
    let mut by_status: BTreeMap<u16, Vec<&ErrorCase>> = BTreeMap::new();
    for error in operation.errors.iter().chain(&added) {
        by_status.entry(error.status).or_default().push(error);
    }
    for (status, cases) in &by_status {
        let everywhere = EVERYWHERE.iter().find(|(known, _)| known == status);
        let response = everywhere.map_or_else(|| declared(*status, cases), |(_, name)| shared(name));
        responses.insert(status.to_string(), response);
    }
    if !by_status.contains_key(&400) {
        let when = "`validation_error`: the query string is not UTF-8".to_owned();
        responses.insert("400".into(), problem(400, when, &["validation_error"]));
    }
    let pending = (!operation.works()).then_some(PENDING);
    for (name, status, _) in ANY_TIME.into_iter().chain(pending) {
        responses.insert(status.to_string(), shared(name));
    }
    responses.sort_keys();
    responses.into()
}

fn success(plan: &Plan, operation: &Operation) -> Value {
    let mut described = headers::of_every_answer();
    described.extend(headers::of_a_limit());
    if operation.method == Method::Get {
        described.extend(headers::of_older_data());
    }
    if matches!(operation.body, BodyRule::Members(_)) {
        described.insert("Causeway-Ignored".into(), headers::reference("Ignored"));
    }
    described.extend(safe_writes::success_headers(plan, operation));
    let mut response = json!({ "description": operation.summary, "headers": described });
    let Some(shape) = operation.response.as_deref().filter(|_| operation.answer != Answer::Empty) else {
        return response;
    };
    let schema = if operation.is_list() { schemas::either_page(shape) } else { reference(shape) };
    let mut media = json!({ "schema": schema });
    if let Some(examples) = examples::success(operation, shape) {
        media["examples"] = examples;
    }
    response["content"] = json!({ "application/json": media });
    response
}

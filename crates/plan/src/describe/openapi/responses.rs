//! What an operation answers: its success, and its refusals by status.
//!
//! May use: `plan`.

use super::schemas::{self, reference};
use super::{examples, safe_writes};
use crate::plan::{Answer, BodyRule, ErrorCase, Operation, Plan, codes};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Media type of refusals.
const PROBLEM: &str = "application/problem+json";

/// What any operation may answer besides what it declares: name of the component, status, when.
const ANY_TIME: [(&str, u16, &str); 4] = [
    ("InternalError", 500, "The gateway failed; the request id leads to the cause in its log."),
    ("UpstreamError", 502, "v1 answered what the gateway cannot use; `detail` says what was stored, if anything."),
    (
        "Unavailable",
        503,
        "v1 or the store cannot be reached, the gateway is full, or an index is being built; `Retry-After` says when to \
         try again.",
    ),
    ("Timeout", 504, "v1 or the gateway took too long; a write may have been carried out."),
];

/// Answered by operations of a later version.
const PENDING: (&str, u16, &str) = ("NotImplemented", 501, "The operation does not work in this version.");

/// Errors every operation declares, word for word the same, so they are written once.
const EVERYWHERE: [(u16, &str); 2] = [(401, "Unauthorized"), (429, "RateLimited")];

/// `components.headers`.
pub(super) fn headers() -> Value {
    json!({
        "V1Calls": {
            "description": "v1 calls the answer took",
            "schema": { "type": "integer", "minimum": 0 },
        },
        "Ignored": {
            "description": "members of the body that changed nothing, percent-encoded: those the operation does not \
                            know, and those that cannot be written",
            "schema": { "type": "string" },
        },
        "ServerTiming": {
            "description": "milliseconds spent in v1 and in total",
            "schema": { "type": "string" },
        },
        "RequestId": {
            "description": "id of the request; the gateway's log has it",
            "schema": { "type": "string" },
        },
        "RetryAfter": {
            "description": "seconds to wait before the next try",
            "schema": { "type": "integer", "minimum": 1 },
        },
        "WwwAuthenticate": {
            "description": "how to authenticate",
            "schema": { "type": "string" },
        },
        "Version": {
            "description": "version of the record, for `If-Match`; absent where it is not known",
            "schema": { "type": "string" },
        },
        "Replayed": {
            "description": "`true` when this is the answer to an earlier request with the same `Idempotency-Key`",
            "schema": { "type": "string", "enum": ["true"] },
        },
    })
}

/// `components.responses`.
pub(super) fn components(plan: &Plan) -> Value {
    let mut responses = Map::new();
    for (status, name) in EVERYWHERE {
        let errors = plan.operations.first().map(|operation| operation.errors.as_slice()).unwrap_or_default();
        let cases: Vec<&ErrorCase> = errors.iter().filter(|error| error.status == status).collect();
        responses.insert(name.into(), declared(status, &cases));
    }
    for (name, status, when) in ANY_TIME.into_iter().chain([PENDING]) {
        let codes = codes::TABLE.iter().filter(|(of, _)| *of == status).map(|(_, code)| *code).collect::<Vec<_>>();
        responses.insert(name.into(), problem(status, when.into(), &codes));
    }
    responses.into()
}

/// `responses` of an operation.
pub(super) fn of(plan: &Plan, operation: &Operation) -> Value {
    let mut responses = Map::new();
    responses.insert(operation.status.to_string(), success(plan, operation));
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

fn shared(name: &str) -> Value {
    json!({ "$ref": format!("#/components/responses/{name}") })
}

fn success(plan: &Plan, operation: &Operation) -> Value {
    let mut response = json!({
        "description": operation.summary,
        "headers": {
            "Causeway-V1-Calls": { "$ref": "#/components/headers/V1Calls" },
            "Server-Timing": { "$ref": "#/components/headers/ServerTiming" },
            "X-Request-Id": { "$ref": "#/components/headers/RequestId" },
        },
    });
    if matches!(operation.body, BodyRule::Members(_)) {
        response["headers"]["Causeway-Ignored"] = json!({ "$ref": "#/components/headers/Ignored" });
    }
    if let Some(headers) = response["headers"].as_object_mut() {
        headers.extend(safe_writes::success_headers(plan, operation));
    }
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

/// The refusals of one status that an operation declares.
fn declared(status: u16, cases: &[&ErrorCase]) -> Value {
    let lines: Vec<String> = cases.iter().map(|case| format!("`{}`: {}", case.code, case.when)).collect();
    let mut codes: Vec<&str> = cases.iter().map(|case| case.code.as_str()).collect();
    codes.dedup();
    problem(status, lines.join("\n\n"), &codes)
}

fn problem(status: u16, description: String, codes: &[&str]) -> Value {
    let mut headers = json!({ "X-Request-Id": { "$ref": "#/components/headers/RequestId" } });
    if [429, 503].contains(&status) || codes.contains(&"idempotency_in_progress") {
        headers["Retry-After"] = json!({ "$ref": "#/components/headers/RetryAfter" });
    }
    if status == 401 {
        headers["WWW-Authenticate"] = json!({ "$ref": "#/components/headers/WwwAuthenticate" });
    }
    json!({
        "description": description,
        "headers": headers,
        "content": { PROBLEM: { "schema": reference("Problem"), "examples": examples::of_problems(codes) } },
        "x-causeway-codes": codes,
    })
}

//! Refusals by status: those of every operation, and those that one operation declares. May use: `plan`, this folder.

use super::examples;
use super::schemas::reference;
use crate::plan::{ErrorCase, Plan, codes};
use serde_json::{Map, Value, json};

/// Media type of refusals.
const PROBLEM: &str = "application/problem+json";

/// Answers that any operation may give besides those it declares: name of the component, status, when.
pub(super) const ANY_TIME: [(&str, u16, &str); 4] = [
    ("InternalError", 500, "The gateway failed; the request id leads to the cause in its log."),
    ("UpstreamError", 502, "v1 gave an unusable answer; `detail` says what was stored, if anything."),
    (
        "Unavailable",
        503,
        "v1 or the store cannot be reached, the gateway is full, or an index is being built; `Retry-After` says when to \
         try again.",
    ),
    ("Timeout", 504, "v1 or the gateway took too long; a write may have been carried out."),
];

/// The answer of operations that belong to a later version.
pub(super) const PENDING: (&str, u16, &str) =
    ("NotImplemented", 501, "The operation does not work in this version.");

/// Errors that every operation declares in the same words, so that they are written once.
pub(super) const EVERYWHERE: [(u16, &str); 2] = [(401, "Unauthorized"), (429, "RateLimited")];

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

pub(super) fn shared(name: &str) -> Value {
    json!({ "$ref": format!("#/components/responses/{name}") })
}

/// Returns the refusals of one status that an operation declares.
pub(super) fn declared(status: u16, cases: &[&ErrorCase]) -> Value {
    let lines: Vec<String> = cases.iter().map(|case| format!("`{}`: {}", case.code, case.when)).collect();
    let mut codes: Vec<&str> = cases.iter().map(|case| case.code.as_str()).collect();
    codes.dedup();
    problem(status, lines.join("\n\n"), &codes)
}

pub(super) fn problem(status: u16, description: String, codes: &[&str]) -> Value {
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

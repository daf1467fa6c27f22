//! Refusals by status: those of every operation, and those that one operation declares; and the 304 of reads. May use:
//! `plan`, this folder.

use super::schemas::reference;
use super::{examples, headers};
use crate::plan::{ErrorCase, Plan, codes};
use serde_json::{Map, Value, json};

/// Media type of refusals.
const PROBLEM: &str = "application/problem+json";

/// Component of the answer to a read of something unchanged.
pub(super) const UNCHANGED: &str = "NotModified";

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

/// Returns `components.responses`.
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
    responses.insert(UNCHANGED.into(), unchanged());
    responses.into()
}

/// Returns the answer to a read whose client has the present version already.
fn unchanged() -> Value {
    let mut described = headers::of_every_answer();
    described.extend(headers::of_a_limit());
    described.extend(headers::of_older_data());
    described.insert("ETag".into(), headers::reference("Version"));
    json!({ "description": "The client has this version already: it is in `If-None-Match`.", "headers": described })
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
    let mut described = headers::of_every_answer();
    if [429, 503].contains(&status) || codes.contains(&"idempotency_in_progress") {
        described.insert("Retry-After".into(), headers::reference("RetryAfter"));
    }
    if status == 401 {
        described.insert("WWW-Authenticate".into(), headers::reference("WwwAuthenticate"));
    }
    if status == 429 {
        described.extend(headers::of_a_limit());
    }
    json!({
        "description": description,
        "headers": described,
        "content": { PROBLEM: { "schema": reference("Problem"), "examples": examples::of_problems(codes) } },
        "x-causeway-codes": codes,
    })
}

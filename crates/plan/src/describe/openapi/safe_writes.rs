//! Additions to the contract for safe writes: versions of records and conditions on them, and keys that
//! make a repeated POST harmless. All of it is optional; `docs/safe-writes.md` explains it.
//!
//! May use: `plan`.

use super::headers;
use crate::plan::{Answer, ErrorCase, Method, Operation, Plan, Source, Step};
use serde_json::{Map, Value, json};

/// Names of the components.
const IF_MATCH: &str = "IfMatch";
const IF_NONE_MATCH: &str = "IfNoneMatch";
const IDEMPOTENCY_KEY: &str = "IdempotencyKey";
/// A list of entity tags, or the star.
const TAGS: &str = r#"^[ \t]*(\*|(,[ \t]*)*(W/)?"[!#-~]*"([ \t]*,([ \t]*(W/)?"[!#-~]*")?)*)[ \t]*$"#;
/// A string of structured fields, or a bare word.
const KEY: &str = r#"^[ \t]*("([ !#-\[\]-~]|\\["\\]){1,255}"|[!#-~]{1,255})[ \t]*$"#;

/// Checks whether the operation's answer carries the version of a record.
fn tells_version(plan: &Plan, operation: &Operation) -> bool {
    let record = |known: &&Operation| known.method == Method::Get && known.answer == Answer::Record;
    let shown = plan.operations.iter().filter(record).any(|known| known.response == operation.response);
    operation.answer == Answer::Record && shown
}

/// Checks whether the operation is a list whose answer carries a version of its own.
fn tells_list_version(plan: &Plan, operation: &Operation) -> bool {
    operation.step == Step::ReadCollection && plan.resource_of(operation).source == Source::V1
}

/// Checks whether the operation is a read that takes `If-None-Match`, and then may answer 304.
pub(super) fn may_be_unchanged(plan: &Plan, operation: &Operation) -> bool {
    operation.method == Method::Get && (tells_version(plan, operation) || tells_list_version(plan, operation))
}

/// Checks whether the operation takes `Idempotency-Key`.
fn takes_key(operation: &Operation) -> bool {
    operation.method == Method::Post
}

/// Returns `components.parameters` of these headers.
pub(super) fn components() -> [(String, Value); 3] {
    let header = |name: &str, description: &str, schema: Value| {
        json!({
            "name": name, "in": "header", "required": false, "description": description, "schema": schema,
        })
    };
    let text = |pattern: &str| json!({ "type": "string", "pattern": pattern });
    let version = "the write is done only if the record still has one of these versions (from `ETag`); else 412";
    let word = "a key that the client chooses for this request, up to 255 characters: when the same request is sent \
                again with this key, it is not carried out again and gets the same answer";
    let known = "the answer is 304 without a body if one of these versions (from `ETag`) is the present one; a value \
                 that is no list of versions is ignored";
    [
        (IF_MATCH.to_owned(), header("If-Match", version, text(TAGS))),
        (IF_NONE_MATCH.to_owned(), header("If-None-Match", known, json!({ "type": "string" }))),
        (IDEMPOTENCY_KEY.to_owned(), header("Idempotency-Key", word, text(KEY))),
    ]
}

/// Returns references to the headers that an operation takes.
pub(super) fn parameters(plan: &Plan, operation: &Operation) -> Vec<Value> {
    let mut names = Vec::new();
    if plan.showing(operation).is_some() {
        names.push(IF_MATCH);
    }
    if may_be_unchanged(plan, operation) {
        names.push(IF_NONE_MATCH);
    }
    if takes_key(operation) {
        names.push(IDEMPOTENCY_KEY);
    }
    names.iter().map(|name| json!({ "$ref": format!("#/components/parameters/{name}") })).collect()
}

/// Returns references to the headers that a success of the operation may carry.
pub(super) fn success_headers(plan: &Plan, operation: &Operation) -> Map<String, Value> {
    let mut headers = Map::new();
    if tells_version(plan, operation) {
        headers.insert("ETag".into(), headers::reference("Version"));
    }
    if tells_list_version(plan, operation) {
        headers.insert("ETag".into(), headers::reference("ListVersion"));
    }
    if takes_key(operation) {
        headers.insert("Idempotency-Replayed".into(), headers::reference("Replayed"));
    }
    headers
}

/// Returns the refusals that these headers can cause.
pub(super) fn refusals(plan: &Plan, operation: &Operation) -> Vec<ErrorCase> {
    let case = |status, code: &str, when: &str| ErrorCase { status, code: code.into(), when: when.into() };
    let mut cases = Vec::new();
    if plan.showing(operation).is_some() {
        cases.push(case(412, "precondition_failed", "the record has none of the versions in If-Match"));
    }
    if takes_key(operation) {
        cases.push(case(409, "idempotency_in_progress", "the request with this Idempotency-Key is still running"));
        cases.push(case(422, "idempotency_key_reused", "this Idempotency-Key came with another request before"));
    }
    cases
}

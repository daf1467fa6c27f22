//! Headers of answers. May use: nothing of this crate.

use serde_json::{Map, Value, json};

/// Headers of every answer, each with its component.
const EVERY: [(&str, &str); 3] =
    [("Causeway-V1-Calls", "V1Calls"), ("Server-Timing", "ServerTiming"), ("X-Request-Id", "RequestId")];

/// Headers of answers to a valid credential that has a limit. Refusals have them too, but only 429 describes them: in
/// the refusals of all operations they would make the document much larger.
const LIMIT: [(&str, &str); 5] = [
    ("RateLimit", "RateLimit"),
    ("RateLimit-Policy", "RateLimitPolicy"),
    ("X-RateLimit-Limit", "LimitPerMinute"),
    ("X-RateLimit-Remaining", "LimitRemaining"),
    ("X-RateLimit-Reset", "LimitReset"),
];

/// Headers of an answer to a read that rests on older data.
const OLDER: [(&str, &str); 2] = [("Age", "Age"), ("Cache-Status", "CacheStatus")];

fn references(headers: &[(&str, &str)]) -> Map<String, Value> {
    let reference = |name: &str| json!({ "$ref": format!("#/components/headers/{name}") });
    headers.iter().map(|(header, name)| ((*header).to_owned(), reference(name))).collect()
}

/// Returns references to the headers of every answer.
pub(super) fn of_every_answer() -> Map<String, Value> {
    references(&EVERY)
}

/// Returns references to the headers that show the state of a limit.
pub(super) fn of_a_limit() -> Map<String, Value> {
    references(&LIMIT)
}

/// Returns references to the headers that tell the age of what a read shows.
pub(super) fn of_older_data() -> Map<String, Value> {
    references(&OLDER)
}

/// `components.headers`.
pub(super) fn components() -> Value {
    json!({
        "V1Calls": {
            "description": "number of calls to v1 that the answer took",
            "schema": { "type": "integer", "minimum": 0 },
        },
        "Ignored": {
            "description": "members of the body that were ignored, percent-encoded: members that the operation does \
                            not know, and members that cannot be written",
            "schema": { "type": "string" },
        },
        "ServerTiming": {
            "description": "milliseconds spent in v1 and in total",
            "schema": { "type": "string" },
        },
        "RequestId": {
            "description": "id of the request, as in the gateway's log",
            "schema": { "type": "string" },
        },
        "RateLimit": {
            "description": "state of the credential's limit: requests left (`r`), and seconds until it is whole again \
                            (`t`)",
            "schema": { "type": "string" },
        },
        "RateLimitPolicy": {
            "description": "the credential's limit: requests (`q`) in a window of seconds (`w`)",
            "schema": { "type": "string" },
        },
        "LimitPerMinute": {
            "description": "requests a minute that the credential may send",
            "schema": { "type": "integer", "minimum": 0 },
        },
        "LimitRemaining": {
            "description": "requests that are left",
            "schema": { "type": "integer", "minimum": 0 },
        },
        "LimitReset": {
            "description": "Unix second at which the limit is whole again",
            "schema": { "type": "integer", "minimum": 0 },
        },
        "Age": {
            "description": "seconds since the data was read, when the answer rests on older data than usual",
            "schema": { "type": "integer", "minimum": 0 },
        },
        "CacheStatus": {
            "description": "why the answer rests on older data than usual",
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
            "description": "version of the record, for `If-Match`; absent when it is not known",
            "schema": { "type": "string" },
        },
        "ListVersion": {
            "description": "version of the page, for `If-None-Match`",
            "schema": { "type": "string" },
        },
        "Replayed": {
            "description": "`true` when this is the answer to an earlier request with the same `Idempotency-Key`",
            "schema": { "type": "string", "enum": ["true"] },
        },
    })
}

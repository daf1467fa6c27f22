//! Headers of answers. May use: nothing of this crate.

use serde_json::{Map, Value, json};

/// Returns a reference to a header by the name of its component.
pub(super) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/headers/{name}") })
}

fn references(headers: &[(&str, &str)]) -> Map<String, Value> {
    headers.iter().map(|(header, name)| ((*header).to_owned(), reference(name))).collect()
}

/// Returns references to the headers of every answer.
pub(super) fn of_every_answer() -> Map<String, Value> {
    references(&[
        ("Causeway-V1-Calls", "V1Calls"),
        ("Server-Timing", "ServerTiming"),
        ("X-Request-Id", "RequestId"),
    ])
}

/// Returns references to the headers that show the state of a limit, of answers to a valid credential that has one.
/// Refusals have them too, but only 429 describes them: in the refusals of all operations they would make the document
/// much larger.
pub(super) fn of_a_limit() -> Map<String, Value> {
    references(&[
        ("RateLimit", "RateLimit"),
        ("RateLimit-Policy", "RateLimitPolicy"),
        ("X-RateLimit-Limit", "LimitPerMinute"),
        ("X-RateLimit-Remaining", "LimitRemaining"),
        ("X-RateLimit-Reset", "LimitReset"),
    ])
}

/// Returns references to the headers that tell the age of what a read shows, when it rests on older data.
pub(super) fn of_older_data() -> Map<String, Value> {
    references(&[("Age", "Age"), ("Cache-Status", "CacheStatus")])
}

/// Returns `components.headers`.
pub(super) fn components() -> Value {
    let text = |description: &str| json!({ "description": description, "schema": { "type": "string" } });
    let number = |minimum: u32, description: &str| json!({ "description": description, "schema": { "type": "integer", "minimum": minimum } });
    json!({
        "V1Calls": number(0, "number of calls to v1 that the answer took"),
        "Ignored": text(
            "members of the body that were ignored, percent-encoded: members that the operation does not know, and \
             members that cannot be written"
        ),
        "ServerTiming": text("milliseconds spent in v1 and in total"),
        "RequestId": text("id of the request, as in the gateway's log"),
        "RateLimit": text(
            "state of the credential's limit: requests left (`r`), and seconds until it is whole again (`t`)"
        ),
        "RateLimitPolicy": text("the credential's limit: requests (`q`) in a window of seconds (`w`)"),
        "LimitPerMinute": number(0, "requests a minute that the credential may send"),
        "LimitRemaining": number(0, "requests that are left"),
        "LimitReset": number(0, "Unix second at which the limit is whole again"),
        "Age": number(0, "seconds since the data was read, when the answer rests on older data than usual"),
        "CacheStatus": text("why the answer rests on older data than usual"),
        "RetryAfter": number(1, "seconds to wait before the next try"),
        "WwwAuthenticate": text("how to authenticate"),
        "Version": text("version of the record, for `If-Match`; absent when it is not known"),
        "ListVersion": text("version of the page, for `If-None-Match`"),
        "Replayed": {
            "description": "`true` when this is the answer to an earlier request with the same `Idempotency-Key`",
            "schema": { "type": "string", "enum": ["true"] },
        },
    })
}

//! Headers of answers. May use: nothing of this crate.

use serde_json::{Value, json};

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
        "Replayed": {
            "description": "`true` when this is the answer to an earlier request with the same `Idempotency-Key`",
            "schema": { "type": "string", "enum": ["true"] },
        },
    })
}

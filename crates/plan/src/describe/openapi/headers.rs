//! Headers of answers. May use: nothing of this crate.

use serde_json::{Value, json};

/// `components.headers`.
pub(super) fn components() -> Value {
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

//! What an answer says about the limit of its credential.
//!
//! `RateLimit` and `RateLimit-Policy` as structured fields (draft-ietf-httpapi-ratelimit-headers-10), beside
//! the older `X-RateLimit-*` with the reset as a Unix second, as v1 writes it. May use: `context`, `units`.

use crate::context::Standing;
use crate::units::since_1970;
use http::{HeaderMap, HeaderName, HeaderValue};

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// Writes where the credential stands.
pub fn write(headers: &mut HeaderMap, standing: &Standing) {
    let seconds = standing.reset.as_secs_f64().ceil() as u64;
    let reset = (since_1970() + standing.reset).as_secs_f64().ceil() as u64;
    let Standing { policy, limit, remaining, .. } = standing;
    for (name, text) in [
        (RATE_LIMIT, format!("\"{policy}\";r={remaining};t={seconds}")),
        (POLICY, format!("\"{policy}\";q={limit};w=60")),
    ] {
        if let Ok(value) = HeaderValue::from_str(&text) {
            headers.insert(name, value);
        }
    }
    headers.insert(LIMIT, (*limit).into());
    headers.insert(REMAINING, (*remaining).into());
    headers.insert(RESET, reset.into());
}

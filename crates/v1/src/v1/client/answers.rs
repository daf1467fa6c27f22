//! What an answer tells: of its form, of the quota, and how it was lost.
//!
//! May use: `hop`, `units` and the messages of the folder above.

use crate::hop::{HopError, chain};
use crate::units::since_1970;
use crate::v1::V1Key;
use crate::v1::budget::Told;
use crate::v1::message::{V1Error, V1Response};
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, RETRY_AFTER};
use std::time::Duration;

const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// Takes the key out of the body of a fault, of which an excerpt is logged: error pages of a v1 in debug mode
/// show the headers of the request.
pub(super) fn without_echo(answer: V1Response, key: &V1Key) -> V1Response {
    if answer.status < 500 {
        return answer;
    }
    let body = String::from_utf8_lossy(&answer.body).replace(key.expose(), "[key]");
    V1Response { body: body.into(), ..answer }
}

/// JSON by its content type, and not compressed: nobody asked for that, so the bytes are not JSON.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let compressed = headers.get(CONTENT_ENCODING).is_some_and(|coding| coding != "identity");
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    !compressed && essence.eq_ignore_ascii_case("application/json")
}

pub(super) fn retry_after(headers: &HeaderMap) -> Option<u64> {
    number(headers, &RETRY_AFTER)
}

fn number(headers: &HeaderMap, name: &HeaderName) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

/// What an answer of v1 says about the quota of its key.
pub fn told(status: u16, headers: &HeaderMap) -> Told {
    let now = since_1970().as_secs();
    Told {
        status,
        remaining: number(headers, &REMAINING).and_then(|number| usize::try_from(number).ok()),
        reset: number(headers, &RESET).map(|reset| Duration::from_secs(reset.saturating_sub(now))),
        retry_after: retry_after(headers),
    }
}

/// Only a connection that was never made is certain not to have carried the request.
pub(super) fn lost(error: &HopError) -> V1Error {
    if error.is_connect() { V1Error::Unreachable(chain(error)) } else { V1Error::Broken(chain(error)) }
}

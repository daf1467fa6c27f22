//! Facts in an answer: its format, the quota, and the kind of a failure.
//!
//! May use: `hop`, `units` and the messages of the folder above.

use crate::hop::{HopError, chain};
use crate::units::since_1970;
use crate::v1::V1Key;
use crate::v1::budget::QuotaNotice;
use crate::v1::message::{V1Error, V1Response};
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, RETRY_AFTER};
use std::time::Duration;

const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// Removes the key from the body of an answer that is no success, because an excerpt of it may be logged. Error pages
/// of a v1 in debug mode show the headers of the request.
pub(super) fn without_echo(answer: V1Response, key: &V1Key) -> V1Response {
    let shows_key = |body: &[u8]| String::from_utf8_lossy(body).contains(key.expose());
    if answer.is_success() || !shows_key(&answer.body) {
        return answer;
    }
    let body = String::from_utf8_lossy(&answer.body).replace(key.expose(), "[key]");
    V1Response { body: body.into(), ..answer }
}

/// Checks for JSON by the content type. A compressed body is not JSON, because compression was not requested.
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

/// Returns the facts about the quota of the key in an answer of v1.
pub fn told(status: u16, headers: &HeaderMap) -> QuotaNotice {
    let now = since_1970().as_secs();
    QuotaNotice {
        status,
        remaining: number(headers, &REMAINING).and_then(|number| usize::try_from(number).ok()),
        reset: number(headers, &RESET).map(|reset| Duration::from_secs(reset.saturating_sub(now))),
        retry_after: retry_after(headers),
    }
}

/// Converts an error. Only when no connection was made, the request certainly did not reach v1.
pub(super) fn lost(error: &HopError) -> V1Error {
    if error.is_connect() { V1Error::Unreachable(chain(error)) } else { V1Error::Broken(chain(error)) }
}

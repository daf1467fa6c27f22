//! What an attempt and its answer tell: for the breaker, for the counts, of the quota, in words, and as a step of a
//! trace.
//!
//! May use: `context`, `hop`, `tally`, `trace`, `units` and the messages of the folder above.

use crate::context::Context;
use crate::hop::{HopError, chain};
use crate::tally;
use crate::trace::{Detail, TRACEPARENT, TRACESTATE};
use crate::units::since_1970;
use crate::v1::V1Key;
use crate::v1::breaker::Ended;
use crate::v1::budget::Told;
use crate::v1::message::{V1Error, V1Request, V1Response};
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use std::time::{Duration, Instant};

/// A call that ended by its deadline before this says nothing about v1.
const PATIENCE: Duration = Duration::from_secs(1);
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// What a call counts as.
pub(super) fn counted(outcome: &Result<V1Response, V1Error>) -> tally::Outcome {
    match outcome {
        Ok(answer) => tally::Outcome::of_status(answer.status),
        Err(V1Error::Unreachable(_)) => tally::Outcome::Unreachable,
        Err(V1Error::Timeout { .. }) => tally::Outcome::Timeout,
        Err(_) => tally::Outcome::Broken,
    }
}

/// What an attempt that took so long tells about v1; none when it tells nothing.
pub(super) fn ended(outcome: &Result<V1Response, V1Error>, took: Duration) -> Option<Ended> {
    match outcome {
        Ok(answer) => Some(Ended::of_status(answer.status)),
        Err(V1Error::Unreachable(_)) => Some(Ended::Unreachable),
        Err(V1Error::Broken(_)) => Some(Ended::Broken),
        // A caller that had little time left cannot complain of v1.
        Err(V1Error::Timeout { .. }) => (took >= PATIENCE).then_some(Ended::Failed),
        Err(V1Error::TooLarge(_) | V1Error::NoRoom) => Some(Ended::Answered),
        Err(_) => None,
    }
}

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

/// Tells v1 which trace a call belongs to, when it belongs to one; in it the call is `span`.
pub(super) fn tell(headers: &mut HeaderMap, ctx: &Context, span: u64) {
    let Some(trace) = ctx.meter.trace() else { return };
    if let Ok(value) = HeaderValue::from_bytes(&trace.header(span)) {
        headers.insert(HeaderName::from_static(TRACEPARENT), value);
    }
    if let Some(Ok(state)) = trace.state().map(HeaderValue::from_str) {
        headers.insert(HeaderName::from_static(TRACESTATE), state);
    }
}

/// Records a call that began at `begun`, where that is wanted.
pub(super) fn record(
    ctx: &Context,
    span: u64,
    begun: Instant,
    request: &V1Request,
    outcome: &Result<V1Response, V1Error>,
) {
    let Some(trace) = ctx.meter.trace() else { return };
    let status = outcome.as_ref().map_or(0, |answer| answer.status);
    trace.call(span, begun, || Detail::Call {
        method: request.method.to_string(),
        path: format!("/api/v1/{}", request.path),
        status,
    });
}

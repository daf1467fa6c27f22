//! Records of an attempt: for the breaker, for the counts, and as a step of a trace.
//!
//! May use: `context`, `tally`, `trace` and the messages of the folder above.

use crate::context::Context;
use crate::tally;
use crate::trace::{Detail, TRACEPARENT, TRACESTATE};
use crate::v1::breaker::Ended;
use crate::v1::message::{V1Error, V1Request, V1Response};
use http::header::{HeaderMap, HeaderName, HeaderValue};
use std::time::{Duration, Instant};

/// A call whose deadline ended it earlier than this says nothing about v1.
const PATIENCE: Duration = Duration::from_secs(1);

/// Returns the outcome of a call for the counts.
pub(super) fn counted(outcome: &Result<V1Response, V1Error>) -> tally::Outcome {
    match outcome {
        Ok(answer) => tally::Outcome::of_status(answer.status),
        Err(V1Error::Unreachable(_)) => tally::Outcome::Unreachable,
        Err(V1Error::Timeout { .. }) => tally::Outcome::Timeout,
        Err(_) => tally::Outcome::Broken,
    }
}

/// Returns what an attempt says about v1, given its time; `None` when it says nothing.
pub(super) fn ended(outcome: &Result<V1Response, V1Error>, took: Duration) -> Option<Ended> {
    match outcome {
        Ok(answer) => Some(Ended::of_status(answer.status)),
        Err(V1Error::Unreachable(_)) => Some(Ended::Unreachable),
        Err(V1Error::Broken(_)) => Some(Ended::Broken),
        // A caller with little time left proves nothing about v1.
        Err(V1Error::Timeout { .. }) => (took >= PATIENCE).then_some(Ended::Failed),
        Err(V1Error::TooLarge(_) | V1Error::NoRoom) => Some(Ended::Answered),
        Err(_) => None,
    }
}

/// Adds the headers of the call's trace, if it has one. `span` is the id of the call in the trace.
pub(super) fn tell(headers: &mut HeaderMap, ctx: &Context, span: u64) {
    let Some(trace) = ctx.meter.trace() else { return };
    if let Ok(value) = HeaderValue::from_bytes(&trace.header(span)) {
        headers.insert(HeaderName::from_static(TRACEPARENT), value);
    }
    if let Some(Ok(state)) = trace.state().map(HeaderValue::from_str) {
        headers.insert(HeaderName::from_static(TRACESTATE), state);
    }
}

/// Records a call that began at `begun`, if the request has a trace.
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

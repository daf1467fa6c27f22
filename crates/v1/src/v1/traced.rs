//! Calls as steps of a trace: what v1 is told, and what is recorded.
//!
//! May use: `context`, `trace` and the messages of this folder.

use super::message::{V1Error, V1Request, V1Response};
use crate::context::Context;
use crate::trace::{Detail, TRACEPARENT, TRACESTATE};
use http::header::{HeaderMap, HeaderName, HeaderValue};
use std::time::Instant;

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
pub(super) fn ended(
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

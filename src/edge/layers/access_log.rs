//! One line per request, written when its answer has been sent, or when the client left before.
//!
//! Neither headers nor the query get into the log, for both can hold secrets.

use super::layer::{Layered, context};
use crate::context::Context;
use crate::edge::body::{Body, Watch, watched};
use crate::edge::connection::Peer;
use crate::telemetry::field;
use futures_util::FutureExt;
use http::{Method, Request, Response, StatusCode};
use std::convert::Infallible;
use std::time::Instant;
use tower::service_fn;

/// Status in the log of a request whose client left before there was an answer.
const CLIENT_LEFT: u16 = 499;

/// Logs each request.
pub(in crate::edge) fn access_log<S: Layered<Infallible>>(inner: S) -> impl Layered<Infallible> {
    service_fn(move |request| logged(inner.clone(), request).boxed())
}

async fn logged<S: Layered<Infallible>>(
    mut inner: S,
    request: Request<Body>,
) -> Result<Response<Body>, Infallible> {
    let mut line = Line::begin(&request);
    let response = inner.call(request).await?;
    line.status = Some(response.status());
    Ok(response.map(|body| watched(body, line)))
}

/// The line in the making; written when dropped.
struct Line {
    method: Method,
    path: String,
    peer: Option<Peer>,
    context: Context,
    began: Instant,
    status: Option<StatusCode>,
    bytes: usize,
    complete: bool,
}

impl Line {
    fn begin(request: &Request<Body>) -> Self {
        Self {
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            peer: request.extensions().get().copied(),
            context: context(request.extensions()),
            began: Instant::now(),
            status: None,
            bytes: 0,
            complete: false,
        }
    }
}

impl Watch for Line {
    fn piece(&mut self, bytes: usize) {
        self.bytes += bytes;
    }

    fn complete(&mut self) {
        self.complete = true;
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let peer = self.peer.map(|peer| peer.0.ip().to_string()).unwrap_or_default();
        tracing::info!(
            { field::REQUEST_ID } = &*self.context.request_id,
            { field::METHOD } = self.method.as_str(),
            { field::PATH } = self.path,
            { field::STATUS } = self.status.map_or(CLIENT_LEFT, |status| status.as_u16()),
            { field::DURATION_MS } = self.began.elapsed().as_millis() as u64,
            { field::V1_CALLS } = self.context.meter.calls(),
            { field::V1_MS } = self.context.meter.v1_time().as_millis() as u64,
            { field::BYTES } = self.bytes,
            { field::COMPLETE } = self.complete,
            { field::PEER } = peer,
            "request"
        );
    }
}

//! One line per request, written when its answer has been sent, or when the client left before.
//!
//! Neither headers nor the query get into the log, for both can hold secrets.

use crate::context::Context;
use crate::edge::body::{Body, Watch, watched};
use crate::edge::connection::Peer;
use crate::telemetry::field;
use http::{Method, Request, Response, StatusCode};
use std::time::Instant;

/// Status in the log of a request whose client left before there was an answer.
const CLIENT_LEFT: u16 = 499;

/// The line of one request; nothing is kept for it when the log does not want it.
pub(in crate::edge) struct Line(Option<Box<Written>>);

impl Line {
    /// To be made when the request has arrived; dropped without an answer, its client has left.
    pub(in crate::edge) fn begin(request: &Request<Body>, context: &Context) -> Self {
        Self(tracing::enabled!(tracing::Level::INFO).then(|| Box::new(Written::begin(request, context))))
    }

    /// The answer, with the line written when its body has been sent.
    pub(in crate::edge) fn answered(self, response: Response<Body>) -> Response<Body> {
        let Some(mut line) = self.0 else { return response };
        line.status = Some(response.status());
        response.map(|body| watched(body, *line))
    }
}

/// The line in the making; written when dropped.
struct Written {
    method: Method,
    path: String,
    peer: Option<Peer>,
    context: Context,
    began: Instant,
    status: Option<StatusCode>,
    bytes: usize,
    complete: bool,
}

impl Written {
    fn begin(request: &Request<Body>, context: &Context) -> Self {
        Self {
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            peer: request.extensions().get().copied(),
            context: context.clone(),
            began: Instant::now(),
            status: None,
            bytes: 0,
            complete: false,
        }
    }
}

impl Watch for Written {
    fn piece(&mut self, bytes: usize) {
        self.bytes += bytes;
    }

    fn complete(&mut self) {
        self.complete = true;
    }
}

impl Drop for Written {
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

//! One line per request, written when its answer has been sent, or when the client left before; and the request counted.
//!
//! Neither headers nor the query get into the log, for both can hold secrets.

use crate::context::Context;
use crate::edge::body::{Body, Watch, watched};
use crate::edge::connection::Peer;
use crate::tally::{Kind, Requests, Source};
use crate::telemetry::field;
use http::{Method, Request, Response, StatusCode};
use std::sync::Arc;
use std::time::Instant;

/// Status in the log and in the counts of a request whose client left before there was an answer.
pub(super) const CLIENT_LEFT: u16 = 499;

/// What is counted and told of one request.
pub(in crate::edge) struct Line(Box<Ending>);

impl Line {
    /// To be made when the request has arrived; dropped without an answer, its client has left.
    pub(in crate::edge) fn begin(
        request: &Request<Body>,
        context: &Context,
        kind: Kind,
        requests: &Arc<Requests>,
    ) -> Self {
        // Probes come every few seconds and are of no interest.
        let told = match kind {
            Kind::Health => tracing::enabled!(tracing::Level::DEBUG),
            _ => tracing::enabled!(tracing::Level::INFO),
        };
        Self(Box::new(Ending {
            told: told.then(|| Told {
                method: request.method().clone(),
                path: request.uri().path().to_owned(),
                peer: request.extensions().get().copied(),
            }),
            kind,
            requests: Arc::clone(requests),
            context: context.clone(),
            began: Instant::now(),
            status: None,
            bytes: 0,
            complete: false,
        }))
    }

    /// The answer, told of and counted when its body has been sent.
    pub(in crate::edge) fn answered(mut self, response: Response<Body>) -> Response<Body> {
        self.0.status = Some(response.status());
        response.map(|body| watched(body, *self.0))
    }
}

/// What a line tells and an ending does not know; nothing is kept of it when the log does not want it.
struct Told {
    method: Method,
    path: String,
    peer: Option<Peer>,
}

/// A request until its end.
struct Ending {
    told: Option<Told>,
    kind: Kind,
    requests: Arc<Requests>,
    context: Context,
    began: Instant,
    status: Option<StatusCode>,
    bytes: usize,
    complete: bool,
}

impl Ending {
    /// Where the answer came from.
    fn source(&self) -> Source {
        let meter = &self.context.meter;
        let operation = meter.operation();
        if meter.is_stale() {
            Source::Stale
        } else if self.kind == Kind::PassThrough {
            Source::V1
        } else if operation.is_some_and(|operation| self.requests.is_own(operation)) {
            Source::Own
        } else if meter.is_from_index() {
            Source::Index
        } else if meter.calls() > 0 {
            Source::V1
        } else if operation.is_some() && self.status.is_some_and(|status| status.as_u16() < 400) {
            Source::Cache
        } else {
            Source::Nothing
        }
    }
}

impl Watch for Ending {
    fn piece(&mut self, bytes: usize) {
        self.bytes += bytes;
    }

    fn complete(&mut self) {
        self.complete = true;
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        let (took, status, source) =
            (self.began.elapsed(), self.status.map(|status| status.as_u16()), self.source());
        let operation = self.context.meter.operation();
        self.requests.add(operation, self.kind, status, source, took);
        let Some(told) = &self.told else { return };
        let peer = told.peer.map(|peer| peer.0.ip().to_string()).unwrap_or_default();
        macro_rules! tell {
            ($level:expr) => {
                tracing::event!(
                    $level,
                    { field::REQUEST_ID } = &*self.context.request_id,
                    { field::METHOD } = told.method.as_str(),
                    { field::PATH } = told.path,
                    { field::OPERATION } = self.requests.name_of(operation, self.kind),
                    { field::STATUS } = status.unwrap_or(CLIENT_LEFT),
                    { field::SOURCE } = source.name(),
                    { field::DURATION_MS } = took.as_millis() as u64,
                    { field::V1_CALLS } = self.context.meter.calls(),
                    { field::V1_MS } = self.context.meter.v1_time().as_millis() as u64,
                    { field::BYTES } = self.bytes,
                    { field::COMPLETE } = self.complete,
                    { field::PEER } = peer,
                    "request"
                )
            };
        }
        match self.kind {
            Kind::Health => tell!(tracing::Level::DEBUG),
            _ => tell!(tracing::Level::INFO),
        }
    }
}

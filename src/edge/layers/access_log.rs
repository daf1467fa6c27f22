//! Writes one log line per request when its answer has been sent, or when the client left before; and counts the
//! request.
//!
//! Neither headers nor the query get into the log, for both can hold secrets. May use: `context`, `settings`, `tally`,
//! `telemetry`, `trace`, this folder.

use super::companion::{Recorded, Traces};
use crate::context::{Context, Note};
use crate::edge::body::{Body, Watch, watched};
use crate::edge::connection::Peer;
use crate::edge::dispatch::{Arrived, Counting, Sender, Surface};
use crate::settings::LogSettings;
use crate::tally::{Kind, Requests, Source};
use crate::telemetry::field;
use crate::trace::Trace;
use http::{Method, Request, Response, StatusCode};
use std::sync::Arc;
use std::time::Duration;

/// Status in the log and in the counts when the client left before there was an answer.
pub(super) const CLIENT_LEFT: u16 = 499;

/// The counts and the log line of one request.
pub(in crate::edge) struct Line(Box<Ending>);

impl Line {
    /// Creates the line at the arrival of the request. When it is dropped without an answer, the client has left.
    pub(in crate::edge) fn begin(
        request: &Request<Body>,
        context: &Context,
        kind: Kind,
        surface: &Surface,
        log: &LogSettings,
    ) -> Self {
        // Health probes come every few seconds and are of no interest.
        let told = match kind {
            Kind::Health => tracing::enabled!(tracing::Level::DEBUG),
            _ => tracing::enabled!(tracing::Level::INFO),
        };
        let (path, recorded) = (request.uri().path(), context.meter.trace().is_some_and(Trace::is_recorded));
        // Calls of the two interfaces are counted, pages are not.
        let counting = surface.counting.clone().filter(|_| matches!(kind, Kind::PassThrough | Kind::Unknown));
        let arrived = counting.map(|counting| {
            let arrived = counting.arrived(request.method(), path, request.headers(), context);
            Counted { counting, arrived, done: false }
        });
        Self(Box::new(Ending {
            asked: (told || recorded).then(|| LoggedRequest {
                method: request.method().clone(),
                path: path.to_owned(),
                peer: request.extensions().get().copied(),
            }),
            told,
            slow: log.slow,
            owner: log.owner,
            traces: surface.traces.clone().filter(|_| recorded),
            counted: arrived,
            kind,
            requests: Arc::clone(&surface.requests),
            context: context.clone(),
            waited: None,
            status: None,
            bytes: 0,
            complete: false,
        }))
    }

    /// Notes the answer. The call is counted for its client now; the log line is written, and the request is counted,
    /// when the body of the answer has been sent.
    pub(in crate::edge) fn answered(mut self, response: Response<Body>) -> Response<Body> {
        let ending = &mut *self.0;
        ending.status = Some(response.status());
        ending.waited = Some(ending.context.began.elapsed());
        ending.count(response.status().as_u16());
        response.map(|body| watched(body, *self.0))
    }
}

struct Counted {
    counting: Arc<dyn Counting>,
    arrived: Arrived,
    done: bool,
}

/// Method, path and peer of a request; kept only when the log or a trace needs them.
struct LoggedRequest {
    method: Method,
    path: String,
    peer: Option<Peer>,
}

struct Ending {
    asked: Option<LoggedRequest>,
    told: bool,
    /// Time to the answer from which a request is logged as a warning; zero for never.
    slow: Duration,
    /// Whether the log names the owner of the credential.
    owner: bool,
    traces: Option<Arc<dyn Traces>>,
    counted: Option<Counted>,
    kind: Kind,
    requests: Arc<Requests>,
    context: Context,
    /// Time until the answer began.
    waited: Option<Duration>,
    status: Option<StatusCode>,
    bytes: usize,
    complete: bool,
}

impl Ending {
    fn count(&mut self, status: u16) {
        if let Some(counted) = self.counted.as_mut().filter(|counted| !counted.done) {
            counted.done = true;
            counted.counting.answered(&counted.arrived, &self.context, status);
        }
    }

    fn sender(&self) -> Sender {
        let sender = |counted: &Counted| counted.counting.sender(&counted.arrived, &self.context);
        self.counted.as_ref().map(sender).unwrap_or_default()
    }

    /// Checks whether an operator should look at the request: it failed, or its answer took long.
    fn is_remarkable(&self) -> bool {
        self.status.is_some_and(|status| status.is_server_error())
            || (!self.slow.is_zero() && self.waited.unwrap_or_else(|| self.context.began.elapsed()) >= self.slow)
    }

    fn source(&self) -> Source {
        let meter = &self.context.meter;
        let operation = meter.operation();
        if meter.is_stale() {
            Source::Stale
        } else if meter.has(Note::Native) {
            Source::Native
        } else if operation.is_some_and(|operation| self.requests.is_own(operation)) {
            Source::Own
        } else if meter.has(Note::Index) {
            Source::Index
        } else if meter.asks_v1() {
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
            (self.context.began.elapsed(), self.status.map(|status| status.as_u16()), self.source());
        self.count(CLIENT_LEFT);
        let operation = self.context.meter.operation();
        self.requests.add(operation, self.kind, status, source, took);
        let Some(asked) = &self.asked else { return };
        let (status, sender) = (status.unwrap_or(CLIENT_LEFT), self.sender());
        if let (Some(traces), Some(trace)) = (&self.traces, self.context.meter.trace()) {
            traces.ended(Recorded {
                trace,
                name: self.requests.name_of(operation, self.kind),
                method: asked.method.as_str(),
                path: &asked.path,
                status,
                source: source.name(),
                request_id: &self.context.request_id,
                client: &sender.client,
            });
        }
        if self.told {
            self.tell(asked, &sender, status, source, took);
        }
    }
}

impl Ending {
    fn tell(&self, asked: &LoggedRequest, sender: &Sender, status: u16, source: Source, took: Duration) {
        let peer = asked.peer.map(|peer| peer.0.ip().to_canonical().to_string()).unwrap_or_default();
        let meter = &self.context.meter;
        macro_rules! tell {
            ($level:expr) => {
                tracing::event!(
                    $level,
                    { field::REQUEST_ID } = &*self.context.request_id,
                    { field::TRACE_ID } = meter.trace().map(tracing::field::display),
                    { field::METHOD } = asked.method.as_str(),
                    { field::PATH } = asked.path,
                    { field::OPERATION } = self.requests.name_of(meter.operation(), self.kind),
                    { field::STATUS } = status,
                    { field::SOURCE } = source.name(),
                    { field::DURATION_MS } = took.as_millis() as u64,
                    { field::V1_CALLS } = meter.calls(),
                    { field::V1_MS } = meter.v1_time().as_millis() as u64,
                    { field::BYTES } = self.bytes,
                    { field::COMPLETE } = self.complete,
                    { field::PEER } = peer,
                    { field::CLIENT } = given(&sender.client),
                    { field::CREDENTIAL } = given(&sender.credential),
                    { field::OWNER } = given(&sender.owner).filter(|_| self.owner),
                    "request"
                )
            };
        }
        match self.kind {
            Kind::Health => tell!(tracing::Level::DEBUG),
            _ if self.is_remarkable() => tell!(tracing::Level::WARN),
            _ => tell!(tracing::Level::INFO),
        }
    }
}

/// Returns the text unless it is empty.
fn given(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

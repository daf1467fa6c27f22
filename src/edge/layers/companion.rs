//! Gives each request its id, its context, the address that it was sent to and the address of its client. Also holds
//! the interface of the receiver of recorded traces.
//! May use: `context`, `settings`, `trace`, this folder.

use crate::context::Context;
use crate::edge::body::Body;
use crate::edge::client_address::ClientAddress;
use crate::edge::connection::Peer;
use crate::edge::public_base::PublicBase;
use crate::settings::PublicSettings;
use crate::trace::{Parent, TRACEPARENT, TRACESTATE, Trace};
use http::request::Parts;
use http::{Extensions, HeaderMap, HeaderName, HeaderValue, Response};
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// Header with the request id, in requests and answers.
pub(in crate::edge) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Header with the ids of the trace, in requests to the gateway and from it.
pub(in crate::edge) const TRACE_IDS: HeaderName = HeaderName::from_static(TRACEPARENT);
/// Header with the values that other systems add to a trace.
pub(in crate::edge) const TRACE_STATE: HeaderName = HeaderName::from_static(TRACESTATE);

const LONGEST_ID: usize = 128;

/// Receiver of recorded traces. It is called at the end of a request, so it must not wait for anything.
pub trait Traces: Send + Sync + 'static {
    /// Decides whether a new request is recorded, when no trusted proxy has decided it.
    fn samples(&self) -> bool;

    /// Takes a recorded request that has ended.
    fn ended(&self, request: Recorded<'_>);
}

#[derive(Debug)]
pub struct Recorded<'r> {
    pub trace: &'r Trace,
    /// Name of the operation, or of the kind of request when it is no operation.
    pub name: &'r str,
    pub method: &'r str,
    /// Path without the query.
    pub path: &'r str,
    /// Status, 499 when the client left before the answer.
    pub status: u16,
    /// Source of the answer.
    pub source: &'static str,
    pub request_id: &'r str,
    /// Product and version of the client; empty when calls are not counted.
    pub client: &'r str,
}

/// Values that accompany one request from its arrival to its answer.
pub(in crate::edge) struct Companion {
    pub(in crate::edge) context: Context,
    pub(in crate::edge) base: PublicBase,
    id: Option<HeaderValue>,
}

impl Companion {
    /// Adds [`Context`] (expiring after `allowed`), [`PublicBase`] and [`ClientAddress`] to the request.
    pub(in crate::edge) fn join(
        request: &mut Parts,
        allowed: Duration,
        public: &PublicSettings,
        traces: Option<&Arc<dyn Traces>>,
    ) -> Self {
        let mut made = Uuid::encode_buffer();
        let given = given_id(&request.headers);
        let id = given.unwrap_or_else(|| random_id().hyphenated().encode_lower(&mut made));
        let (context, id) = (Context::new(id, allowed), HeaderValue::from_str(id).ok());
        context.meter.follow(trace(request, public, traces));
        let base = PublicBase::of(request, public);
        request.extensions.insert(base.clone());
        if let Some(client) = ClientAddress::of(request, public) {
            request.extensions.insert(client);
        }
        request.extensions.insert(context.clone());
        Self { context, base, id }
    }

    pub(in crate::edge) fn mark(self, mut response: Response<Body>) -> Response<Body> {
        if let Some(id) = self.id {
            response.headers_mut().entry(REQUEST_ID).or_insert(id);
        }
        response
    }
}

/// Returns the context that [`Companion::join`] added.
pub(in crate::edge) fn context(extensions: &Extensions) -> Context {
    extensions.get::<Context>().cloned().unwrap_or_else(|| Context::new("none", Duration::ZERO))
}

/// Returns the trace that the request names, or a new one. Only the gateway and trusted proxies decide whether it is
/// recorded: otherwise a stranger could have every request recorded.
fn trace(request: &Parts, public: &PublicSettings, traces: Option<&Arc<dyn Traces>>) -> Trace {
    let text = |name| request.headers.get(name).and_then(|value| value.to_str().ok());
    let alone = || request.headers.get_all(TRACE_IDS).iter().count() == 1;
    let parent = text(TRACE_IDS).filter(|_| alone()).and_then(|said| Parent::read(said, text(TRACE_STATE)));
    let peer = request.extensions.get::<Peer>();
    let believed = parent.as_ref().filter(|_| peer.is_some_and(|peer| public.trusts(peer.0.ip())));
    let sampled = match believed {
        Some(parent) => parent.sampled,
        None => traces.is_some_and(|traces| traces.samples()),
    };
    Trace::new(parent, sampled, traces.is_some())
}

/// Returns a new request id. It is no secret, so a quick generator is enough, seeded once by the system per thread.
fn random_id() -> Uuid {
    uuid::Builder::from_random_bytes(fastrand::u128(..).to_ne_bytes()).into_uuid()
}

/// Returns the client's own request id when it is safe to log and to forward.
fn given_id(headers: &HeaderMap) -> Option<&str> {
    let id = headers.get(REQUEST_ID)?.to_str().ok()?;
    let sane = (1..=LONGEST_ID).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic());
    sane.then_some(id)
}

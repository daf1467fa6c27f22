//! Forwards `/api/v1/` to v1: every method, with bytes, path and query unchanged. Both directions are streamed as soon
//! as a small body has arrived completely, or the beginning of a larger one.
//!
//! Uses HTTP/1.1 only, with one exchange a connection, so that a large transfer never blocks other requests.
//!
//! May use: `context`, `refusal`, `settings`, `tally`, `trace`, `hop`, `edge::body`, `edge::forwarding`,
//! `edge::intake`, `edge::layers`, `edge::observers`, `edge::problem`, `edge::public_base`.

use super::body::{self, Body, Watch, watched};
use super::forwarding::{request_headers, strip_hop_by_hop};
use super::intake::Holding;
use super::layers::{REQUEST_ID, TRACE_IDS, TRACE_STATE, without_body};
use super::observers::{CallObserver, Unobserved, Write, WriteObserver};
use super::problem;
use super::public_base::PublicBase;
use crate::context::{Context, Note};
use crate::hop::{Hop, HopError, HopSettings, Instance, Retries, Versions, chain};
use crate::refusal::Refusal;
use crate::settings::{HttpAddress, PublicSettings, UpstreamSettings};
use crate::tally::Outcome;
use crate::trace::{Detail, Trace, new_span};
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::uri::{Authority, Parts, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri, Version, request};
use http_body::Body as _;
use hyper::body::Incoming;
use hyper_util::client::legacy::connect::{CaptureConnection, capture_connection};
use parking_lot::Mutex;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Time for which an idle connection to v1 is kept.
const IDLE: Duration = Duration::from_secs(90);

/// When a connection breaks this soon after a request was sent, v1 may have closed it before the request arrived.
const AT_ONCE: Duration = Duration::from_secs(1);

/// Notice about the end of v1 for one call.
#[derive(Debug, Clone, Default)]
pub struct Notice {
    /// Headers that are added to the answer.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Message of the refusal when the call is rejected; it is not forwarded then.
    pub gone: Option<String>,
}

/// Source of notices about the end of v1.
pub trait Notices: Send + Sync + 'static {
    /// Returns the notice for a call; none when there is nothing to say.
    fn of(&self, method: &Method, asked: &Uri, headers: &HeaderMap) -> Option<Notice>;
}

impl Notice {
    pub(super) fn refusal(&self, request: &Request<Body>, request_id: &str) -> Option<Response<Body>> {
        let refusal = Refusal::Gone { detail: self.gone.clone()? };
        let base = request.extensions().get::<PublicBase>();
        let mut response = problem::respond(&refusal, base.unwrap_or(&PublicBase::new("")), request_id);
        self.mark(&mut response);
        Some(response)
    }

    pub(super) fn mark(&self, response: &mut Response<Body>) {
        for (name, value) in &self.headers {
            response.headers_mut().append(name, value.clone());
        }
    }
}

/// The pass-through to v1.
pub struct PassThrough {
    hop: Hop<Body>,
    target: Target,
    longest_silence: Duration,
    public: PublicSettings,
    /// Time that v1 gets to answer a write after its client has left.
    pub(crate) late_write: Duration,
    /// Observer of writes.
    pub(crate) observer: Arc<dyn WriteObserver>,
    /// Observer of all calls.
    pub(crate) calls: Option<Arc<dyn CallObserver>>,
    /// Decides by the headers whether a request may be forwarded: v1 does not know the credentials that the gateway
    /// itself issues.
    pub(crate) admit: fn(&HeaderMap) -> Result<(), Refusal>,
    /// Source of notices about the end of v1 for clients.
    pub(crate) notices: Option<Arc<dyn Notices>>,
    /// Identity of this gateway in `Via`.
    pub(crate) instance: Instance,
    repetitions: Retries,
}

impl PassThrough {
    /// Creates a pass-through to the service at `base`, with its path prefix.
    pub fn new(base: &HttpAddress, upstream: &UpstreamSettings, public: PublicSettings) -> io::Result<Self> {
        let target = Target::new(base)?;
        Ok(Self {
            hop: Hop::new(&target.scheme, &connections(upstream))?,
            target,
            longest_silence: upstream.pass_through_timeout,
            public,
            late_write: upstream.pass_through_timeout,
            observer: Arc::new(Unobserved),
            calls: None,
            admit: |_| Ok(()),
            notices: None,
            instance: Instance::default(),
            repetitions: Retries::default(),
        })
    }

    /// Rejects a request that this gateway has sent itself: the configured v1 is the gateway, or leads back to it.
    pub(super) fn refuse_own_request(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        if !self.instance.has_sent(headers) {
            return Ok(());
        }
        Err(Refusal::upstream(
            "The address of the service behind leads back to this gateway; its operator has to correct the setting \
             upstream.base_url, or native.base_url.",
            "a request came back with the name of this gateway in Via: upstream.base_url or native.base_url leads to \
             the gateway itself",
        ))
    }

    /// Sends `request` to v1 and returns the answer, both as streams.
    ///
    /// # Errors
    /// The request is not admitted; or v1 is unreachable, breaks the connection, or does not answer in time.
    pub async fn forward(&self, request: Request<Body>, context: &Context) -> Result<Response<Body>, Refusal> {
        (self.admit)(request.headers())?;
        let notices = self.notices.as_ref();
        let notice = notices.and_then(|of| of.of(request.method(), request.uri(), request.headers()));
        if let Some(gone) = notice.as_ref().and_then(|notice| notice.refusal(&request, &context.request_id)) {
            let bare = *request.method() == Method::HEAD;
            return Ok(if bare { without_body(gone) } else { gone });
        }
        // v1 serves few requests at once. A request whose body does not arrive would take the place of another. So no
        // connection is opened until the beginning of the body has arrived.
        let (parts, body) = request.into_parts();
        let body = body::begun(body).await?;
        let writes = !parts.method.is_safe();
        let write = if writes { Write::begin(&self.observer, &parts, context) } else { None };
        let (may_repeat, begun) = (!writes && body.is_end_stream(), Instant::now());
        let mut answer = match write {
            Some(write) => self.carry_out(write, &parts, body, context).await,
            None => self.exchange(&parts, body, context).0.await,
        };
        self.repetitions.earn();
        // A server may close a kept connection just when a request arrives. When the connection breaks later, v1 was
        // already working on the request.
        let broke = matches!(&answer, Err(Failure::Broken(_))) && begun.elapsed() < AT_ONCE;
        if may_repeat && broke && self.repetitions.take() {
            answer = self.exchange(&parts, body::empty(), context).0.await;
        }
        let answer = answer.map_err(|failure| failure.refusal(writes))?;
        let mut answer = returned(answer, self.longest_silence);
        if let Some(notice) = notice {
            notice.mark(&mut answer);
        }
        Ok(answer)
    }

    /// Carries out a write in a task of its own: v1 goes on with a write whose client has left, and only its answer
    /// says what became of it. Once the client has left, v1 gets the time of a late write to answer.
    async fn carry_out(
        &self,
        write: Write,
        parts: &request::Parts,
        body: Body,
        context: &Context,
    ) -> Result<Response<Incoming>, Failure> {
        let ((exchange, connection), late) = (self.exchange(parts, body, context), self.late_write);
        // The connection counts for as long as there is one.
        let holding = parts.extensions.get::<Arc<Holding>>().cloned();
        let (mut asker, answered) = oneshot::channel();
        self.observer.carry_out(Box::pin(async move {
            let answer = tokio::select! {
                answer = exchange => answer,
                () = left_for(&mut asker, &write, connection, late) => Err(Failure::Silent),
            };
            let ended = match &answer {
                Ok(answer) => write.answered(answer.status(), answer.headers()),
                Err(failure) => write.unanswered(!failure.is_before_sending()),
            };
            ended.await;
            // An answer that nobody takes any more ends its connection to v1.
            drop(asker.send(answer));
            drop(holding);
        }));
        answered.await.unwrap_or_else(|_| Err(Failure::Broken("the write was given up".into())))
    }

    /// Begins an exchange with v1. The returned future gives v1's answer. For a write, the second
    /// value tells when there is a connection.
    fn exchange(
        &self,
        parts: &request::Parts,
        body: Body,
        context: &Context,
    ) -> (impl Future<Output = Result<Response<Incoming>, Failure>> + Send + use<>, Option<CaptureConnection>) {
        let (progress, span, begun) = (Progress::default(), new_span(), Instant::now());
        let mut connection = None;
        let sent = self.outgoing(parts, body, context, &progress, span).map(|mut request| {
            let call = self.calls.as_ref().map(|calls| calls.sent(request.headers(), context));
            connection = (!request.method().is_safe()).then(|| capture_connection(&mut request));
            (self.hop.send(request), call)
        });
        let is_traced = context.meter.trace().is_some_and(Trace::is_recorded);
        let traced = is_traced.then(|| (parts.method.to_string(), parts.uri.path().to_owned()));
        let (context, limit) = (context.clone(), self.longest_silence);
        let exchange = async move {
            let (sending, call) = sent.map_err(Failure::Unsendable)?;
            let answer = tokio::select! {
                answer = sending => answer.map_err(Failure::of).and_then(not_switched),
                () = progress.stalled(limit) => Err(Failure::Silent),
            };
            if !context.meter.has(Note::Native) {
                context.meter.record(begun.elapsed());
            }
            if let (Some(trace), Some((method, path))) = (context.meter.trace(), traced) {
                let status = answer.as_ref().map_or(0, |answer| answer.status().as_u16());
                trace.call(span, begun, || Detail::Call { method, path, status });
            }
            if let Some(call) = call {
                match &answer {
                    Ok(answer) => call.answered(answer.status().as_u16(), answer.headers()),
                    Err(Failure::Unreachable(_)) => call.unanswered(Outcome::Unreachable),
                    Err(Failure::Silent) => call.unanswered(Outcome::Timeout),
                    Err(Failure::Body(_)) => call.unanswered(Outcome::Left),
                    Err(_) => call.unanswered(Outcome::Broken),
                }
            }
            answer
        };
        (exchange, connection)
    }

    fn outgoing(
        &self,
        parts: &request::Parts,
        body: Body,
        context: &Context,
        progress: &Progress,
        span: u64,
    ) -> Result<Request<Body>, Refusal> {
        let unknown_length = !body.is_end_stream() && body.size_hint().exact().is_none();
        let mut outgoing = Request::new(watched(body, progress.clone()));
        *outgoing.uri_mut() = self.target.uri(&parts.uri)?;
        *outgoing.headers_mut() = request_headers(parts, &self.public);
        self.instance.sign(outgoing.headers_mut(), parts.version);
        *outgoing.method_mut() = parts.method.clone();
        let headers = outgoing.headers_mut();
        if unknown_length {
            // Without this header hyper leaves out the body of a GET or HEAD.
            headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        }
        if let Ok(id) = HeaderValue::from_str(&context.request_id) {
            headers.entry(REQUEST_ID).or_insert(id);
        }
        if let Some(trace) = context.meter.trace() {
            // The state of other systems belongs to the trace of the request; without that trace it has no meaning.
            if trace.parent.is_none() {
                headers.remove(TRACE_STATE);
            }
            if let Ok(value) = HeaderValue::from_bytes(&trace.header(span)) {
                headers.insert(TRACE_IDS, value);
            }
        }
        Ok(outgoing)
    }
}

/// Returns when the client of `write` has been gone for `late`: nobody waits for the answer that `asker` takes. The
/// write counts once it has a `connection`, because before v1 has received nothing of it.
async fn left_for<T>(
    asker: &mut oneshot::Sender<T>,
    write: &Write,
    connection: Option<CaptureConnection>,
    late: Duration,
) {
    asker.closed().await;
    if let Some(mut connection) = connection {
        let is_made = connection.wait_for_connection_metadata().await.is_some();
        if is_made {
            write.client_left();
        }
    }
    tokio::time::sleep(late).await;
}

fn connections(settings: &UpstreamSettings) -> HopSettings {
    HopSettings {
        connect_timeout: settings.connect_timeout,
        pool_size: settings.pool_size,
        idle: IDLE,
        versions: Versions::Http1,
    }
}

/// The address of v1, in its parts.
struct Target {
    scheme: Scheme,
    authority: Authority,
    prefix: String,
}

impl Target {
    fn new(base: &HttpAddress) -> io::Result<Self> {
        let no_host = || io::Error::new(io::ErrorKind::InvalidInput, "the address of v1 has no host");
        let parts = base.as_str().parse::<Uri>().map_err(io::Error::other)?.into_parts();
        let path = parts.path_and_query.as_ref().map_or("", PathAndQuery::path);
        let prefix = path.trim_end_matches('/').to_owned();
        let (scheme, authority) = parts.scheme.zip(parts.authority).ok_or_else(no_host)?;
        Ok(Self { scheme, authority, prefix })
    }

    /// Returns the address at v1 for `asked`: path and query, byte for byte, behind the prefix.
    fn uri(&self, asked: &Uri) -> Result<Uri, Refusal> {
        let path = match asked.path_and_query() {
            Some(path) if self.prefix.is_empty() => path.clone(),
            path => {
                let path = path.map_or("/", PathAndQuery::as_str);
                format!("{}{path}", self.prefix).parse().map_err(Refusal::internal)?
            }
        };
        let mut parts = Parts::default();
        parts.scheme = Some(self.scheme.clone());
        parts.authority = Some(self.authority.clone());
        parts.path_and_query = Some(path);
        Uri::from_parts(parts).map_err(Refusal::internal)
    }
}

/// Time of the last transferred piece of the request body: an upload may take long as long as bytes arrive.
#[derive(Clone)]
struct Progress(Arc<Mutex<Instant>>);

impl Default for Progress {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }
}

impl Progress {
    /// Returns when nothing was transferred for `limit`.
    async fn stalled(&self, limit: Duration) {
        loop {
            let moved = *self.0.lock();
            let left = limit.saturating_sub(moved.elapsed());
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left).await;
        }
    }
}

impl Watch for Progress {
    fn piece(&mut self, _bytes: usize) {
        *self.0.lock() = Instant::now();
    }
}

/// Returns `answer`, unless it switches to another protocol. No request asks for that: `Upgrade` is not forwarded.
fn not_switched(answer: Response<Incoming>) -> Result<Response<Incoming>, Failure> {
    match answer.status() {
        StatusCode::SWITCHING_PROTOCOLS => Err(Failure::Broken("101 for a request without Upgrade".into())),
        _ => Ok(answer),
    }
}

/// Returns v1's answer for the client. Its body ends with an error when v1 is silent for `limit` in the middle of it.
fn returned(response: Response<Incoming>, limit: Duration) -> Response<Body> {
    let mut response = response.map(|body| body::in_time(body::incoming(body), limit));
    // The version is that of the connection to v1.
    *response.version_mut() = Version::HTTP_11;
    let headers = response.headers_mut();
    // The chunks say how long the body is (RFC 9112, 6.3); with both, the client would get as much as the length says.
    if headers.contains_key(TRANSFER_ENCODING) {
        headers.remove(CONTENT_LENGTH);
    }
    strip_hop_by_hop(headers);
    response
}

/// Reason why there is no answer.
enum Failure {
    /// The request could not be sent.
    Unsendable(Refusal),
    /// There was no connection, so nothing was sent either.
    Unreachable(String),
    /// The client's body ended too early, or stopped.
    Body(Refusal),
    Broken(String),
    /// The time limit has passed.
    Silent,
}

impl Failure {
    fn of(error: HopError) -> Self {
        match error {
            error if error.is_connect() => Self::Unreachable(chain(&error)),
            error if error.is_of_the_body() => Self::Body(body::unreadable(&error)),
            error => Self::Broken(chain(&error)),
        }
    }

    /// Checks whether v1 has certainly received nothing.
    fn is_before_sending(&self) -> bool {
        matches!(self, Self::Unsendable(_) | Self::Unreachable(_))
    }

    /// Returns the refusal for the client. When the request `writes`, it says that the write may have been carried out.
    fn refusal(self, writes: bool) -> Refusal {
        let late = "The service behind did not answer in time.";
        let broken = "The connection to the service behind broke before an answer.";
        match self {
            Self::Unsendable(refusal) | Self::Body(refusal) => refusal,
            Self::Unreachable(cause) => Refusal::unavailable(cause),
            Self::Broken(cause) if writes => Refusal::outcome_unknown(broken, cause, false),
            Self::Broken(cause) => Refusal::upstream(broken, cause),
            Self::Silent if writes => Refusal::outcome_unknown(late, "no answer in time", true),
            Self::Silent => Refusal::UpstreamTimeout { detail: late.into() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(base: &str, asked: &str) -> String {
        let target = Target::new(&HttpAddress::parse(base).unwrap()).unwrap();
        target.uri(&asked.parse().unwrap()).unwrap().to_string()
    }

    #[test]
    fn path_and_query_go_on_byte_for_byte_behind_the_prefix() {
        let odd = "/api/v1//a%2Fb/%e4/x'y|z;p=1/?q=%20+%27'&&=#";
        let sent = "https://h.example:8443/prefix/api/v1//a%2Fb/%e4/x'y|z;p=1/?q=%20+%27'&&=";
        assert_eq!(target("https://h.example:8443/prefix/", odd), sent);
        assert_eq!(target("http://h.example", "/api/v1/?"), "http://h.example/api/v1/?");
    }

    #[test]
    fn both_schemes_can_be_set_up() {
        let upstream = crate::settings::Settings::default().upstream;
        for base in ["http://h.example", "https://h.example"] {
            let way = PassThrough::new(&HttpAddress::parse(base).unwrap(), &upstream, PublicSettings::default());
            assert!(way.is_ok(), "{base}: {:?}", way.err());
        }
    }
}

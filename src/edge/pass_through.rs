//! `/api/v1/` to the service behind: every method, bytes, path and query unchanged, streaming both ways as soon as the
//! first piece of the body is there.
//!
//! HTTP/1.1 only: one exchange a connection, so that a large transfer never holds up others.
//!
//! May use: `context`, `refusal`, `settings`, `trace`, `hop`, `edge::body`, `edge::forwarding`, `edge::notices`.

use super::body::{self, Body, Watch, watched};
use super::forwarding::{request_headers, strip_hop_by_hop};
use super::layers::REQUEST_ID;
use super::notices::Notices;
use crate::context::Context;
use crate::hop::{Hop, HopError, HopSettings, Instance, Versions, chain};
use crate::refusal::Refusal;
use crate::settings::{HttpAddress, PublicSettings, UpstreamSettings};
use crate::trace::{Detail, TRACEPARENT, TRACESTATE, new_span};
use futures_util::future::BoxFuture;
use http::uri::{Authority, Parts, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri};
use parking_lot::Mutex;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Is told of writes on the pass-through, so that what they may touch can be forgotten.
pub trait WriteObserver: Send + Sync + 'static {
    /// A write to `path` is about to be sent.
    fn before_write(&self, path: &str);
    /// A write to `path` was answered, failed, or was given up by its client; it may have been carried
    /// out in each case. Called before the client gets the answer.
    fn after_write(&self, path: &str);
    /// Tells whoever else has to know of a write to `path`; awaited before the write is sent, and again, when it is
    /// `done`, before the client gets the answer. By default there is nobody.
    fn announce(&self, path: &str, done: bool) -> BoxFuture<'static, ()> {
        let _ = (path, done);
        Box::pin(std::future::ready(()))
    }
    /// The service behind has said that it deleted what `path` names; awaited before the client gets the
    /// answer. By default nobody wants to know.
    fn deleted(&self, path: &str) -> BoxFuture<'static, ()> {
        let _ = path;
        Box::pin(std::future::ready(()))
    }
}

/// How long a connection to v1 is kept for the next request.
const IDLE: Duration = Duration::from_secs(90);

/// Nobody wants to know.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl CallObserver for Unobserved {
    fn sent(&self, _headers: &HeaderMap, _context: &Context) -> Box<dyn CallUnderWay> {
        Box::new(Self)
    }
}

impl CallUnderWay for Unobserved {
    fn answered(self: Box<Self>, _status: u16, _headers: &HeaderMap) {}
}

impl WriteObserver for Unobserved {
    fn before_write(&self, _path: &str) {}
    fn after_write(&self, _path: &str) {}
}

/// Is told of every call on the pass-through, because it spends the quota of its key.
pub trait CallObserver: Send + Sync + 'static {
    /// A call with these headers is about to be sent.
    fn sent(&self, headers: &HeaderMap, context: &Context) -> Box<dyn CallUnderWay>;
}

/// A call on the pass-through; dropped without a word it had no answer.
pub trait CallUnderWay: Send {
    /// v1 has answered.
    fn answered(self: Box<Self>, status: u16, headers: &HeaderMap);
    /// No connection to v1 could be made. By default nobody wants to know.
    fn unreachable(self: Box<Self>) {}
}

/// Decides whether a request may go through at all, by its headers.
pub trait Admission: Send + Sync + 'static {
    /// Success lets the request through; credentials of the gateway itself are of no use behind it.
    ///
    /// # Errors
    /// The refusal to answer with.
    fn admit(&self, headers: &HeaderMap) -> Result<(), Refusal>;
}

/// Everything may go through.
#[derive(Debug, Clone, Copy, Default)]
pub struct AdmitAll;

impl Admission for AdmitAll {
    fn admit(&self, _headers: &HeaderMap) -> Result<(), Refusal> {
        Ok(())
    }
}

/// The way through to v1.
pub struct PassThrough {
    hop: Hop<Body>,
    target: Target,
    head_timeout: Duration,
    public: PublicSettings,
    observer: Arc<dyn WriteObserver>,
    calls: Arc<dyn CallObserver>,
    admission: Arc<dyn Admission>,
    notices: Option<Arc<dyn Notices>>,
    instance: Instance,
}

impl PassThrough {
    /// A way to the service at `base`, its path prefix included.
    ///
    /// # Errors
    /// When TLS cannot be set up or `base` has no host.
    pub fn new(base: &HttpAddress, upstream: &UpstreamSettings, public: PublicSettings) -> io::Result<Self> {
        let target = Target::new(base)?;
        Ok(Self {
            hop: Hop::new(&target.scheme, &connections(upstream))?,
            target,
            head_timeout: upstream.pass_through_timeout,
            public,
            observer: Arc::new(Unobserved),
            calls: Arc::new(Unobserved),
            admission: Arc::new(AdmitAll),
            notices: None,
            instance: Instance::default(),
        })
    }

    /// The same, sending in the name of `instance`.
    #[must_use]
    pub fn named(self, instance: Instance) -> Self {
        Self { instance, ..self }
    }

    /// Refuses a request that this gateway has sent itself: the service behind is the gateway, or leads back to it.
    pub(super) fn expect_of_others(&self, headers: &HeaderMap) -> Result<(), Refusal> {
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

    /// The same, with `observer` told of writes.
    #[must_use]
    pub fn observed_by(self, observer: Arc<dyn WriteObserver>) -> Self {
        Self { observer, ..self }
    }

    /// The same, with `calls` told of every call.
    #[must_use]
    pub fn counted_by(self, calls: Arc<dyn CallObserver>) -> Self {
        Self { calls, ..self }
    }

    /// The same, with `admission` deciding what may go through.
    #[must_use]
    pub fn admitting(self, admission: Arc<dyn Admission>) -> Self {
        Self { admission, ..self }
    }

    /// The same, with `notices` telling clients of the end of v1.
    #[must_use]
    pub fn telling(self, notices: Option<Arc<dyn Notices>>) -> Self {
        Self { notices, ..self }
    }

    /// Sends `request` to v1 and brings the answer back, both as streams.
    ///
    /// # Errors
    /// What `admission` refuses; v1 unreachable, broken or silent.
    pub async fn forward(&self, request: Request<Body>, context: &Context) -> Result<Response<Body>, Refusal> {
        self.admission.admit(request.headers())?;
        let notices = self.notices.as_ref();
        let notice = notices.and_then(|of| of.of(request.method(), request.uri().path(), request.headers()));
        if let Some(gone) = notice.as_ref().and_then(|notice| notice.refusal(&request, &context.request_id)) {
            return Ok(gone);
        }
        // v1 serves few requests at a time, and one whose body does not come would take the place of another. Until
        // then there is no connection either.
        let (parts, body) = request.into_parts();
        let request = Request::from_parts(parts, body::begun(body).await?);
        let write = Write::begin(&self.observer, request.method(), request.uri().path());
        if let Some(write) = &write {
            self.observer.announce(&write.path, false).await;
        }
        let (progress, writes) = (Progress::default(), write.is_some());
        let deletes = request.method() == Method::DELETE;
        let (span, begun) = (new_span(), Instant::now());
        let trace = context.meter.trace().filter(|trace| trace.is_recorded());
        let asked = trace.map(|_| (request.method().to_string(), request.uri().path().to_owned()));
        let request = self.outgoing(request, context, &progress, span)?;
        let call = self.calls.sent(request.headers(), context);
        let answer = tokio::select! {
            answer = self.hop.send(request) => answer.map_err(|error| refusal(&error, writes)),
            () = progress.stalled(self.head_timeout) => Err(no_answer(writes)),
        };
        if !context.meter.is_native() {
            context.meter.record(begun.elapsed());
        }
        if let (Some(trace), Some((method, path))) = (trace, asked) {
            let status = answer.as_ref().map_or(0, |answer| answer.status().as_u16());
            trace.call(span, begun, || Detail::Call { method, path, status });
        }
        match &answer {
            Ok(answer) => call.answered(answer.status().as_u16(), answer.headers()),
            Err(Refusal::UpstreamUnavailable { .. }) => call.unreachable(),
            Err(_) => {}
        }
        if let Some(write) = write {
            let path = write.path.clone();
            drop(write);
            self.observer.announce(&path, true).await;
            if deletes && answer.as_ref().is_ok_and(|answer| answer.status() == StatusCode::NO_CONTENT) {
                self.observer.deleted(&path).await;
            }
        }
        let mut answer = answer.map(returned)?;
        if let Some(notice) = notice {
            notice.mark(&mut answer);
        }
        Ok(answer)
    }

    fn outgoing(
        &self,
        request: Request<Body>,
        context: &Context,
        progress: &Progress,
        span: u64,
    ) -> Result<Request<Body>, Refusal> {
        let (parts, body) = request.into_parts();
        let mut outgoing = Request::new(watched(body, progress.clone()));
        *outgoing.uri_mut() = self.target.uri(&parts.uri)?;
        *outgoing.headers_mut() = request_headers(&parts, &self.public);
        self.instance.sign(outgoing.headers_mut(), parts.version);
        *outgoing.method_mut() = parts.method;
        let headers = outgoing.headers_mut();
        if let Ok(id) = HeaderValue::from_str(&context.request_id) {
            headers.entry(REQUEST_ID).or_insert(id);
        }
        if let Some(trace) = context.meter.trace() {
            // The state that other systems add belongs to the trace; without the trace it came with it says nothing.
            if trace.parent().is_none() {
                headers.remove(TRACESTATE);
            }
            if let Ok(value) = HeaderValue::from_bytes(&trace.header(span)) {
                headers.insert(TRACEPARENT, value);
            }
        }
        Ok(outgoing)
    }
}

fn connections(settings: &UpstreamSettings) -> HopSettings {
    HopSettings {
        connect_timeout: settings.connect_timeout,
        pool_size: settings.pool_size,
        idle: IDLE,
        versions: Versions::Http1,
    }
}

/// The address of v1, taken apart.
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

    /// Where a request for `asked` goes: path and query byte for byte behind the prefix.
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

/// A write under way; tells the observer of its end when dropped, whatever the end is.
struct Write {
    observer: Arc<dyn WriteObserver>,
    path: String,
}

impl Write {
    fn begin(observer: &Arc<dyn WriteObserver>, method: &Method, path: &str) -> Option<Self> {
        if matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) {
            return None;
        }
        observer.before_write(path);
        Some(Self { observer: observer.clone(), path: path.to_owned() })
    }
}

impl Drop for Write {
    fn drop(&mut self) {
        self.observer.after_write(&self.path);
    }
}

/// When something of the request last moved: an upload may take long as long as it moves.
#[derive(Clone)]
struct Progress(Arc<Mutex<Instant>>);

impl Default for Progress {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }
}

impl Progress {
    /// Ends when nothing has moved for `limit`.
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

fn returned(response: Response<hyper::body::Incoming>) -> Response<Body> {
    let mut response = response.map(body::incoming);
    strip_hop_by_hop(response.headers_mut());
    response
}

/// v1 says nothing; the client of a write is told what that may mean.
fn no_answer(writes: bool) -> Refusal {
    let detail = "The service behind did not answer in time.";
    match writes {
        true => Refusal::outcome_unknown(detail, "no answer in time", true),
        false => Refusal::UpstreamTimeout { detail: detail.into() },
    }
}

fn refusal(error: &HopError, writes: bool) -> Refusal {
    if error.is_connect() {
        return Refusal::unavailable(chain(error));
    }
    if error.is_of_the_body() {
        return Refusal::invalid("The request body could not be read to its end.");
    }
    let detail = "The connection to the service behind broke before an answer.";
    match writes {
        true => Refusal::outcome_unknown(detail, chain(error), false),
        false => Refusal::upstream(detail, chain(error)),
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

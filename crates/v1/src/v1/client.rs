//! The HTTP client for v1.
//!
//! One pooled client for all keys; nothing of a key is kept after a call. Redirects, proxies of the environment and
//! compressed answers are off: the answer is read as v1 gives it. May use: `boxed`, `context`, `hop`, `load`,
//! `refusal`, `tally`, `trace`, `units` and the rest of this folder.

mod answers;
mod noted;

pub use answers::{accepts_the_key, is_of_the_throttle, is_refused_at_the_door, names_a_key, told};

use super::base_url::{BaseUrl, BaseUrlError};
use super::breaker::{Breaker, Ended, SILENCE};
use super::budget::{Budget, Permit};
use super::clock::Clock;
use super::concurrency::{Concurrency, ConcurrencySettings, Slot};
use super::message::{V1Error, V1Request, V1Response};
use super::outcome::Outcome;
use super::{API_KEY, V1Key, refusals, retry};
use crate::boxed::boxed;
use crate::context::{Context, Priority};
use crate::hop::{Hop, HopSettings, Instance, Retries, Versions, chain};
use crate::load::{Asker, Memory};
use crate::refusal::Refusal;
use crate::tally::{Called, Calls};
use crate::trace::new_span;
use crate::units::now_micros;
use answers::{is_json, lost, retry_after, without_echo};
use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderName, HeaderValue, USER_AGENT};
use http::{Method, Request, Response, Version};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body as _, Incoming};
use noted::{counted, ended, record, tell};
use parking_lot::RwLock;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Settings of the client.
#[derive(Debug, Clone)]
pub struct ClientSettings {
    /// Base URL of the deployment, with or without `/api/v1`.
    pub base_url: String,
    /// Longest time to make a connection, TLS included; 2 s is a good value.
    pub connect_timeout: Duration,
    /// Largest answer that is read, in bytes.
    pub response_cap: usize,
    /// Number of idle connections kept.
    pub pool_per_host: usize,
    /// Longest random wait before a retry.
    pub retry_jitter: Duration,
    /// Limits for calls in flight.
    pub concurrency: ConcurrencySettings,
}

/// Reason why no client could be created from its settings.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The base URL cannot be used.
    #[error(transparent)]
    BaseUrl(#[from] BaseUrlError),
    /// The TLS set-up failed, for example because the machine has no root certificates.
    #[error("the client for v1 could not be set up: {0}")]
    SetUp(String),
}

/// Time for which an idle connection is kept; shorter than proxies keep theirs. A connection that is closed just then
/// costs a read a second call, and leaves it unknown whether a write was carried out.
const IDLE: Duration = Duration::from_secs(15);
/// Time until the next try when it is unknown how long v1 will be silent.
const SOON: Duration = Duration::from_secs(1);
/// Longest part of a request's time that is reserved for finding out whether its write was carried out.
const FINDING_OUT: Duration = Duration::from_secs(3);
/// Number of header fields of a call, including the trace and our signature.
const FIELDS: usize = 12;
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const AGENT: HeaderValue = HeaderValue::from_static(concat!("causeway/", env!("CARGO_PKG_VERSION")));

/// Last check before a write is sent, made after every wait.
pub type Look<'l> = &'l (dyn Fn() -> PreSendCheckFuture<'l> + Send + Sync);
/// Result of a [`Look`]: the error is the reason why the write must not be sent.
pub type PreSendCheckFuture<'l> = Pin<Box<dyn Future<Output = Result<(), Refusal>> + Send + 'l>>;

/// The client; cheap to clone, all clones share the connections.
#[derive(Debug, Clone)]
pub struct Client {
    hop: Hop<Full<Bytes>>,
    /// The deployment that it calls.
    pub base_url: BaseUrl,
    response_cap: usize,
    retry_jitter: Duration,
    /// Budget that paces the calls.
    pub budget: Budget,
    /// Known health of v1; it stops calls while v1 fails.
    pub breaker: Breaker,
    /// Limit for calls in flight.
    pub concurrency: Concurrency,
    /// v1's clock, measured from its answers.
    pub clock: Clock,
    retries: Arc<Retries>,
    memory: Memory,
    calls: Arc<RwLock<Arc<Calls>>>,
    /// Name of this gateway process in its requests.
    pub instance: Instance,
}

impl Client {
    /// Creates a client for one deployment. Makes no connection yet.
    ///
    /// # Errors
    /// [`ClientError`] when the base URL cannot be used or TLS cannot be set up.
    pub fn new(settings: ClientSettings) -> Result<Self, ClientError> {
        let base_url = BaseUrl::parse(&settings.base_url)?;
        let hop = HopSettings {
            connect_timeout: settings.connect_timeout,
            pool_size: settings.pool_per_host,
            idle: IDLE,
            versions: Versions::Http1And2,
        };
        let hop = Hop::new(&base_url.scheme, &hop).map_err(|cause| ClientError::SetUp(chain(&cause)))?;
        let (response_cap, retry_jitter) = (settings.response_cap, settings.retry_jitter);
        Ok(Self {
            hop,
            base_url,
            response_cap,
            retry_jitter,
            budget: Budget::unlimited(),
            breaker: Breaker::default(),
            concurrency: Concurrency::new(settings.concurrency),
            clock: Clock::default(),
            retries: Arc::default(),
            memory: Memory::unlimited(),
            calls: Arc::new(RwLock::new(Arc::new(Calls::new(Vec::new())))),
            instance: Instance::default(),
        })
    }

    /// Returns the client with its calls paced by `budget`.
    #[must_use]
    pub fn paced_by(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    /// Returns the client with the answers it reads counted in `memory`.
    #[must_use]
    pub fn within(self, memory: Memory) -> Self {
        Self { memory, ..self }
    }

    /// Counts its calls, and those of its clones, in `calls` from now on.
    pub fn count_in(&self, calls: Arc<Calls>) {
        *self.calls.write() = calls;
    }

    /// Checks whether any call other than index work was made within `time`, here or by the pass-through.
    pub fn is_urgent_within(&self, time: Duration) -> bool {
        self.concurrency.is_urgent_within(time) || self.budget.is_foreign_within(time)
    }

    /// Carries out one read, and retries it once where that is safe (see `retry`). Every attempt waits for the budget
    /// of its key and counts on `ctx.meter`. All attempts together end at `ctx.deadline`. When v1 refuses a request
    /// because its quota is used up, the request is sent again when v1 accepts requests again, if `ctx` waits for that.
    ///
    /// # Errors
    /// [`V1Error`] when there is no complete answer. Any complete answer is `Ok`, whatever its status. A write is
    /// not sent: see [`Client::write`].
    pub async fn call(&self, key: &V1Key, request: V1Request, ctx: &Context) -> Result<V1Response, V1Error> {
        if request.method != Method::GET {
            return Err(V1Error::Unsendable("a write is not made as a read".into()));
        }
        self.attempts(key, request, ctx, None).await
    }

    /// Carries out one write. It is sent again only when it certainly was not carried out: no connection was made, or
    /// v1's own throttle refused it. Part of the remaining time of `ctx` is reserved, for finding out whether an
    /// unanswered write was carried out. `look` is called each time before the write is sent, after every wait: for the
    /// quota, for a place among the calls in flight, or after a refusal by v1. When `look` fails, nothing is sent.
    pub async fn write(&self, key: &V1Key, request: V1Request, ctx: &Context, look: Option<Look<'_>>) -> Outcome {
        let (method, left) = (request.method.clone(), ctx.remaining());
        if method == Method::GET {
            return Outcome::of(&method, Err(V1Error::Unsendable("a read is not made as a write".into())));
        }
        let kept_back = (left / 4).min(FINDING_OUT);
        let ctx = ctx.for_shared_work(left.saturating_sub(kept_back));
        Outcome::of(&method, self.attempts(key, request, &ctx, look).await)
    }

    async fn attempts(
        &self,
        key: &V1Key,
        request: V1Request,
        ctx: &Context,
        look: Option<Look<'_>>,
    ) -> Result<V1Response, V1Error> {
        let mut left = retry::ATTEMPTS;
        self.retries.earn();
        loop {
            let outcome = boxed(|| self.measured_attempt(key, &request, ctx, look)).await;
            let throttled = |answer: &V1Response| match request.method {
                Method::GET => answer.status == 429,
                _ => refusals::is_own_throttle(answer),
            };
            if self.budget.paces(key.id()) && ctx.waits_for_v1() && outcome.as_ref().is_ok_and(throttled) {
                continue;
            }
            left -= 1;
            if left == 0 || !retry::may_repeat(&request.method, &outcome) {
                return outcome;
            }
            let pause = retry::jitter(self.retry_jitter);
            if ctx.remaining() <= pause || !self.retries.take() {
                return outcome;
            }
            tracing::debug!(method = %request.method, path = %request.path, "repeating a v1 call");
            tokio::time::sleep(pause).await;
        }
    }

    /// Works like [`Client::call`], but turns each answer that means the same for all operations into an error. So
    /// `Ok` is a success with well-formed JSON (or 204), a 400, a permission 403, a 404, 405 or 409.
    ///
    /// # Errors
    /// See [`refusals::refusal_of_status`] and [`V1Error::refusal`].
    pub async fn ask(&self, key: &V1Key, request: V1Request, ctx: &Context) -> Result<V1Response, Refusal> {
        let answer = self.call(key, request, ctx).await.map_err(|lost| lost.refusal())?;
        refusals::refusal_of_status(&answer).map_or(Ok(answer), Err)
    }

    /// Works like [`Client::ask`], for a caller that parses the whole body of a 200 itself, and calls
    /// [`refusals::refusal_of_status`] when that fails.
    ///
    /// # Errors
    /// See [`Client::ask`].
    pub async fn ask_unread(&self, key: &V1Key, request: V1Request, ctx: &Context) -> Result<V1Response, Refusal> {
        let answer = self.call(key, request, ctx).await.map_err(|lost| lost.refusal())?;
        let refusal = match answer.status {
            200 => refusals::refusal_of_failure(&answer),
            _ => refusals::refusal_of_status(&answer),
        };
        refusal.map_or(Ok(answer), Err)
    }

    async fn measured_attempt(
        &self,
        key: &V1Key,
        request: &V1Request,
        ctx: &Context,
        look: Option<Look<'_>>,
    ) -> Result<V1Response, V1Error> {
        let (span, mut prepared) = (new_span(), self.prepare(key, request, ctx)?);
        tell(prepared.headers_mut(), ctx, span);
        if ctx.remaining().is_zero() {
            return Err(V1Error::Timeout { maybe_done: false });
        }
        let path = of_path(&request.path);
        if let Some(wait) = self.breaker.closed_for().filter(|wait| !wait.is_zero()) {
            return Err(V1Error::Paused(wait));
        }
        let permit = self.budget.admit(key.id(), ctx).await.map_err(V1Error::Limited)?;
        let slot = self.enter(key, ctx).await?;
        if let Some(look) = look {
            look().await.map_err(|refusal| V1Error::Withdrawn(Box::new(refusal)))?;
        }
        let pass = self.breaker.admit(path).map_err(V1Error::Paused)?;
        let begun = Instant::now();
        ctx.sends(begun);
        // One answer is refused for lack of memory only in a read that belongs to no write and to no index work.
        // `check_room` is about the answers of a list together.
        let refusable = request.method == Method::GET && ctx.priority == Priority::Read;
        let attempt = self.attempt(prepared, permit, refusable);
        let outcome = self.in_time(attempt, &request.method, pass.probe, ctx).await;
        let took = begun.elapsed();
        ctx.meter.record(took);
        self.calls.read().add(called(ctx), request.method == Method::GET, counted(&outcome), took);
        record(ctx, span, begun, request, &outcome);
        let ended = ended(&outcome, took);
        slot.ended(took, matches!(ended, Some(Ended::Failed | Ended::Broken | Ended::Unreachable)));
        if let Some(ended) = ended {
            pass.ended(ended);
        }
        outcome.map(|answer| without_echo(answer, key))
    }

    /// Checks whether a read of several pages, of which `held` bytes are kept, has room in the memory. An answer, or as
    /// many bytes, is kept in any case, and so is everything that is read for a write that has changed something.
    ///
    /// # Errors
    /// [`V1Error::NoRoom`] when there is none.
    pub(super) fn check_room(&self, held: usize, ctx: &Context) -> Result<(), V1Error> {
        let is_refused = held > self.response_cap && self.memory.is_exceeded() && !ctx.has_changed_something();
        if is_refused { Err(V1Error::NoRoom) } else { Ok(()) }
    }

    /// Waits for a place among the calls in flight.
    async fn enter(&self, key: &V1Key, ctx: &Context) -> Result<Slot, V1Error> {
        let name = key.id().0.first_chunk().copied().map_or(0, u64::from_le_bytes);
        let mut entering = std::pin::pin!(self.concurrency.enter(ctx.priority, name));
        loop {
            let left = ctx.remaining();
            if left.is_zero() {
                return Err(V1Error::Timeout { maybe_done: false });
            }
            match tokio::time::timeout(left.min(SILENCE), &mut entering).await {
                Ok(slot) => return Ok(slot),
                Err(_) if self.breaker.has_stopped_calls() => return Err(V1Error::Paused(SOON)),
                Err(_) => {}
            }
        }
    }

    /// Waits for the outcome of `attempt` until the deadline. A read also ends when v1 has become silent meanwhile.
    async fn in_time(
        &self,
        attempt: impl Future<Output = Result<V1Response, V1Error>>,
        method: &Method,
        probe: bool,
        ctx: &Context,
    ) -> Result<V1Response, V1Error> {
        let mut attempt = std::pin::pin!(attempt);
        let read = method == Method::GET;
        loop {
            let left = ctx.remaining();
            if left.is_zero() {
                return Err(V1Error::Timeout { maybe_done: !read });
            }
            match tokio::time::timeout(left.min(SILENCE), &mut attempt).await {
                Ok(outcome) => return outcome,
                Err(_) if read && (probe || self.breaker.has_stopped_calls()) => {
                    return Err(V1Error::Timeout { maybe_done: false });
                }
                Err(_) => {}
            }
        }
    }

    fn prepare(&self, key: &V1Key, request: &V1Request, ctx: &Context) -> Result<Request<Full<Bytes>>, V1Error> {
        let address = self
            .base_url
            .address(&request.path, &request.query)
            .ok_or_else(|| V1Error::Unsendable(format!("its path {:?} is no v1 path", request.path)))?;
        let mut prepared = Request::new(Full::new(request.body.clone().unwrap_or_default()));
        *prepared.method_mut() = request.method.clone();
        *prepared.uri_mut() = address;
        let headers = prepared.headers_mut();
        headers.reserve(FIELDS);
        let mut secret = HeaderValue::from_str(key.expose())
            .map_err(|_| V1Error::Unsendable("its key cannot stand in a header".into()))?;
        secret.set_sensitive(true);
        headers.extend(self.base_url.host.as_ref().map(|host| (HOST, host.clone())));
        headers.insert(API_KEY, secret);
        headers.insert(ACCEPT, JSON);
        headers.insert(USER_AGENT, AGENT);
        self.instance.sign(headers, Version::HTTP_11);
        if let Ok(id) = HeaderValue::from_str(&ctx.request_id) {
            headers.insert(REQUEST_ID, id);
        }
        if request.body.is_some() {
            headers.insert(CONTENT_TYPE, JSON);
        }
        Ok(prepared)
    }

    async fn attempt(
        &self,
        request: Request<Full<Bytes>>,
        mut permit: Permit,
        refusable: bool,
    ) -> Result<V1Response, V1Error> {
        permit.sends();
        let sent = now_micros();
        let answer = match self.hop.send(request).await {
            Ok(answer) => answer,
            Err(error) => {
                if error.is_connect() {
                    permit.not_sent();
                }
                return Err(lost(&error));
            }
        };
        let status = answer.status().as_u16();
        permit.answered(&told(status, answer.headers()));
        self.clock.answered(answer.headers(), sent);
        let (is_json, retry_after) = (is_json(answer.headers()), retry_after(answer.headers()));
        let body = self.read_body(answer, refusable).await?;
        Ok(V1Response { status, body, is_json, retry_after })
    }

    async fn read_body(&self, answer: Response<Incoming>, refusable: bool) -> Result<Bytes, V1Error> {
        let mut coming = answer.into_body();
        let announced = coming.size_hint().lower();
        if announced > self.response_cap as u64 {
            return Err(V1Error::TooLarge(self.response_cap));
        }
        // For no single client, because one answer often serves several clients at once.
        let mut room = self.memory.reservation(Asker::default());
        let mut body = BytesMut::new();
        while let Some(frame) = coming.frame().await {
            let Ok(chunk) = frame.map_err(|error| V1Error::Broken(chain(&error)))?.into_data() else { continue };
            if body.len() + chunk.len() > self.response_cap {
                return Err(V1Error::TooLarge(self.response_cap));
            }
            if refusable {
                room.grow(chunk.len()).map_err(|_| V1Error::NoRoom)?;
            } else {
                room.grow_anyway(chunk.len());
            }
            if body.is_empty() && chunk.len() as u64 == announced {
                // The body came in one piece, so it is not copied.
                return Ok(room.hold(chunk));
            }
            body.reserve((announced as usize).saturating_sub(body.len()).max(chunk.len()));
            body.extend_from_slice(&chunk);
        }
        Ok(room.hold(body.freeze()))
    }
}

/// Returns the kind of call that `ctx` makes, for the counts.
fn called(ctx: &Context) -> Called {
    match ctx.meter.operation() {
        Some(operation) => Called::Operation(operation),
        None if ctx.priority == Priority::Index => Called::Index,
        None => Called::Gateway,
    }
}

/// Returns a number for a path.
fn of_path(path: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish().max(1)
}

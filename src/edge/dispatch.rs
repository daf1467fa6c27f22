//! Tells v2 from the pass-through and from all other paths, by the beginning of the path.
//!
//! May use: `context`, `refusal`, `tally`, `trace`, `v2::Reply`, `edge::body`, `edge::coding`, `edge::pass_through`,
//! `edge::pools`, `edge::layers`.

use super::body::{self, Body};
use super::coding::{Accepted, Codings};
use super::layers::{Traces, context};
use super::pass_through::PassThrough;
use super::pools::{Kind, is_pass_through, is_v2};
use crate::context::Context;
use crate::refusal::Refusal;
use crate::tally::Requests;
use crate::trace::{Trace, recording};
use crate::v2::Reply;
use futures_util::future::BoxFuture;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, VARY};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use serde::Serialize;
use std::sync::Arc;

/// An answer to a request of v2.
pub enum V2Answer {
    /// A success of this gateway.
    Reply(Reply),
    /// An answer of the deployment's own v2.
    Passed(Response<Body>),
}

/// The service that answers v2 requests. The request's extensions hold the `PublicBase` and the `Peer`.
pub trait V2Service: Send + Sync + 'static {
    /// Answers `request`, which is never HEAD. Read its body with `read_body`.
    fn answer(&self, request: Request<Body>, context: Context) -> BoxFuture<'static, Result<V2Answer, Refusal>>;
}

/// A service for paths outside the two interfaces, with answers of any kind: documentation, OAuth.
pub trait Pages: Send + Sync + 'static {
    /// Checks whether `path` is one of its pages. This is called before v2, so pages below `/api/v2/` are possible.
    fn has(&self, path: &str) -> bool;

    /// Returns the kind whose pools serve the requests of these pages.
    fn kind(&self) -> Kind {
        Kind::Pages
    }

    /// Answers `request`, which is never HEAD.
    fn answer(
        &self,
        request: Request<Body>,
        context: Context,
    ) -> BoxFuture<'static, Result<Response<Body>, Refusal>>;
}

/// State of the gateway as `/readyz` shows it to anybody: words, and no addresses.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Condition {
    /// Always `ready`.
    pub status: &'static str,
    /// `ok`, `read-only` while the store cannot be written, or `unreachable` while its database does not answer or
    /// refuses the login; none without a store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<&'static str>,
    /// `ok`, `unreachable`, or `unknown` when no request has gone to v1 lately.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub v1: Option<&'static str>,
    /// Seconds since v1 became unreachable, as a whole number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub v1_unreachable_seconds: Option<u64>,
}

/// Whether the gateway can serve.
pub trait Readiness: Send + Sync + 'static {
    /// Succeeds when the gateway can serve; else returns the refusal that requests would get.
    fn ready(&self) -> BoxFuture<'static, Result<Condition, Refusal>>;
}

/// Facts about a call at its arrival, as numbers of the [`Counting`] implementation.
#[derive(Debug, Clone)]
pub struct Arrived {
    pub v1: bool,
    pub operation: u32,
    pub client: u32,
    /// The credential of a call of v1.
    pub credential: u64,
    /// The key of a call of v1 while its owner is unknown.
    pub unknown_key: Option<Box<str>>,
}

/// The sender of a call, as the log line shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sender {
    /// Product and version of the client.
    pub client: Arc<str>,
    /// Fingerprint of the credential; empty without one.
    pub credential: Arc<str>,
    /// The owner of the credential, if known.
    pub owner: Arc<str>,
}

/// Counts the calls of both interfaces. It is called within each request, so it must not wait for anything.
pub trait Counting: Send + Sync + 'static {
    /// Notes that a call has arrived.
    fn arrived(&self, method: &Method, path: &str, headers: &HeaderMap, context: &Context) -> Arrived;

    /// Counts a call that was answered with `status`; 499 when its client left before the answer.
    fn answered(&self, arrived: &Arrived, context: &Context, status: u16);

    /// Returns the sender of the call.
    fn sender(&self, arrived: &Arrived, context: &Context) -> Sender;
}

/// All services behind the stack.
pub struct Surface {
    /// The v2 operations.
    pub v2: Arc<dyn V2Service>,
    /// Further pages. The first entry that has a path answers it.
    pub pages: Vec<Arc<dyn Pages>>,
    /// The pass-through to v1.
    pub pass_through: PassThrough,
    /// The check that `/readyz` runs.
    pub readiness: Arc<dyn Readiness>,
    /// Counters of requests.
    pub requests: Arc<Requests>,
    /// Counter of calls; none when calls are not counted.
    pub counting: Option<Arc<dyn Counting>>,
    /// Receiver of traces; none when traces are not recorded.
    pub traces: Option<Arc<dyn Traces>>,
}

impl Surface {
    fn pages_for(&self, path: &str) -> Option<&dyn Pages> {
        self.pages.iter().find(|pages| pages.has(path)).map(|pages| &**pages)
    }

    /// Returns the kind whose pools serve a request for `path`.
    pub(super) fn kind_of(&self, path: &str) -> Kind {
        if is_pass_through(path) {
            return Kind::PassThrough;
        }
        self.pages_for(path).map_or(if is_v2(path) { Kind::V2 } else { Kind::Pages }, Pages::kind)
    }
}

/// Sends `request` to the service that its path belongs to.
pub(super) async fn dispatch(
    surface: &Surface,
    codings: &Codings,
    mut request: Request<Body>,
) -> Result<Response<Body>, Refusal> {
    let context = context(request.extensions());
    if is_pass_through(request.uri().path()) {
        return surface.pass_through.forward(request, &context).await;
    }
    let accepted = match *request.method() {
        Method::GET => Accepted::of_read(request.headers_mut()),
        _ => Accepted::of(request.headers()),
    };
    let steps = context.meter.trace().and_then(Trace::steps);
    if let Some(pages) = surface.pages_for(request.uri().path()) {
        let answer = recording(steps, pages.answer(request, context)).await?;
        // An answer with a tag is the same for all clients; pages for one person have no tag.
        let fixed = pages.kind() == Kind::Pages && answer.headers().contains_key(ETAG);
        return Ok(if fixed { codings.coded(&accepted, answer, true).await } else { answer });
    }
    if is_v2(request.uri().path()) {
        return match recording(steps, surface.v2.answer(request, context)).await? {
            V2Answer::Reply(answer) => {
                let fixed = answer.fixed;
                Ok(codings.coded(&accepted, reply(answer)?, fixed).await)
            }
            V2Answer::Passed(answer) => Ok(answer),
        };
    }
    Err(Refusal::NotFound { detail: "There is nothing at this path.".into() })
}

/// Writes a v2 success as HTTP. Answers depend on the credential, so caches on the way may not store them. The client
/// may store an answer with a validator.
fn reply(reply: Reply) -> Result<Response<Body>, Refusal> {
    let status = StatusCode::from_u16(reply.status).map_err(Refusal::internal)?;
    let has_body = reply.body.is_some();
    let mut response = Response::new(reply.body.map_or_else(body::empty, body::full));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    match reply.tag {
        None => {
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
            // The version of a record is only for `If-Match`; it does not allow caching.
            if let Some(version) = reply.version {
                headers.insert(ETAG, HeaderValue::try_from(version).map_err(Refusal::internal)?);
            }
        }
        Some(tag) => {
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
            headers.insert(ETAG, HeaderValue::try_from(tag).map_err(Refusal::internal)?);
            headers.append(VARY, HeaderValue::from_static("accept, authorization, x-api-key"));
        }
    }
    if has_body {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(reply.media));
    }
    Ok(response)
}

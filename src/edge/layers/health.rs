//! `/healthz` and `/readyz`: is the process alive, can it serve. Neither needs a credential. May use: `refusal`, this
//! folder.

use super::companion::context;
use crate::edge::body::{self, Body};
use crate::edge::dispatch::{Condition, Readiness};
use crate::edge::pools::Pools;
use crate::refusal::Refusal;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response};
use std::time::Duration;

/// Whether a path is one of the two.
pub(in crate::edge) fn is_examination(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz")
}

/// A request for one of the two health paths.
pub(in crate::edge) enum Examination {
    /// Whether the process lives; answered already.
    Alive(Result<Response<Body>, Refusal>),
    /// Whether it can serve, to be told in this time.
    Ready(Result<Duration, Refusal>),
}

impl Examination {
    /// That of a request; none for all other paths.
    pub(in crate::edge) fn of(request: &Request<Body>) -> Option<Self> {
        match request.uri().path() {
            "/healthz" => {
                let alive = || said(&Condition { status: "alive", ..Condition::default() });
                Some(Self::Alive(only_get(request).map(|()| alive())))
            }
            "/readyz" => Some(Self::Ready(only_get(request).map(|()| context(request.extensions()).remaining()))),
            _ => None,
        }
    }

    /// The answer.
    pub(in crate::edge) async fn answer(
        self,
        readiness: &dyn Readiness,
        pools: &Pools,
    ) -> Result<Response<Body>, Refusal> {
        let allowed = match self {
            Self::Alive(answer) => return answer,
            Self::Ready(allowed) => allowed?,
        };
        if pools.exhausted() {
            return Err(Refusal::Overloaded);
        }
        let ready = tokio::time::timeout(allowed, readiness.ready()).await;
        ready.unwrap_or(Err(Refusal::DeadlineExceeded { maybe_done: false })).map(|condition| said(&condition))
    }
}

fn only_get(request: &Request<Body>) -> Result<(), Refusal> {
    let get = request.method() == Method::GET;
    if get { Ok(()) } else { Err(Refusal::MethodNotAllowed { allow: vec!["GET"] }) }
}

fn said(condition: &Condition) -> Response<Body> {
    let written = serde_json::to_vec(condition).unwrap_or_default();
    let mut response = Response::new(body::full(written));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

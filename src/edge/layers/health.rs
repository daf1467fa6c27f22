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

pub(in crate::edge) fn is_examination(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz")
}

pub(in crate::edge) struct Examination {
    /// Whether it asks no more than whether the process lives.
    of_life: bool,
    allowed: Duration,
}

impl Examination {
    /// That of a request; none for all other paths.
    pub(in crate::edge) fn of(request: &Request<Body>) -> Option<Result<Self, Refusal>> {
        let path = request.uri().path();
        let allowed = || context(request.extensions()).remaining();
        is_examination(path).then(|| match *request.method() == Method::GET {
            true => Ok(Self { of_life: path == "/healthz", allowed: allowed() }),
            false => Err(Refusal::MethodNotAllowed { allow: vec!["GET"] }),
        })
    }

    pub(in crate::edge) async fn answer(
        self,
        readiness: &dyn Readiness,
        pools: &Pools,
    ) -> Result<Response<Body>, Refusal> {
        if self.of_life {
            return Ok(said(&Condition { status: "alive", ..Condition::default() }));
        }
        if pools.exhausted() {
            return Err(Refusal::Overloaded);
        }
        let ready = tokio::time::timeout(self.allowed, readiness.ready()).await;
        ready.unwrap_or(Err(Refusal::DeadlineExceeded { maybe_done: false })).map(|condition| said(&condition))
    }
}

fn said(condition: &Condition) -> Response<Body> {
    let written = serde_json::to_vec(condition).unwrap_or_default();
    let mut response = Response::new(body::full(written));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

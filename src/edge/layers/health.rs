//! `/healthz` tells whether the process is alive, `/readyz` whether it can serve. Neither needs a credential. May use:
//! `refusal`, this folder.

use super::companion::context;
use crate::edge::body::{self, Body};
use crate::edge::dispatch::{Condition, Readiness};
use crate::edge::pools::Pools;
use crate::refusal::Refusal;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response};

/// Path that tells whether the process is alive.
const LIFE: &str = "/healthz";
/// Path that tells whether the process can serve.
const READINESS: &str = "/readyz";

/// Checks whether `path` is one of these two.
pub(crate) fn is_examination(path: &str) -> bool {
    matches!(path, LIFE | READINESS)
}

/// Answers a request for one of the two paths.
pub(in crate::edge) async fn examined(
    request: Request<Body>,
    readiness: &dyn Readiness,
    pools: &Pools,
) -> Result<Response<Body>, Refusal> {
    if *request.method() != Method::GET {
        return Err(Refusal::MethodNotAllowed { allow: vec!["GET"] });
    }
    if request.uri().path() == LIFE {
        return Ok(said(&Condition { status: "alive", ..Condition::default() }));
    }
    if pools.exhausted() {
        return Err(Refusal::Overloaded);
    }
    let allowed = context(request.extensions()).remaining();
    let ready = tokio::time::timeout(allowed, readiness.ready()).await;
    ready.unwrap_or(Err(Refusal::DeadlineExceeded { maybe_done: false })).map(|condition| said(&condition))
}

fn said(condition: &Condition) -> Response<Body> {
    let written = serde_json::to_vec(condition).unwrap_or_default();
    let mut response = Response::new(body::full(written));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

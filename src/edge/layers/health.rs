//! `/healthz` and `/readyz`: is the process alive, can it serve. Neither needs a credential.

use super::layer::{Layered, context};
use crate::edge::body::{self, Body};
use crate::edge::dispatch::{Condition, Readiness};
use crate::edge::pools::Pools;
use crate::refusal::Refusal;
use futures_util::FutureExt;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response};
use std::sync::Arc;
use tower::service_fn;

/// Answers the two health paths and leaves all others to `inner`.
pub(in crate::edge) fn health<S: Layered<Refusal>>(
    inner: S,
    readiness: Arc<dyn Readiness>,
    pools: Arc<Pools>,
) -> impl Layered<Refusal> {
    service_fn(move |request| examined(inner.clone(), request, readiness.clone(), pools.clone()).boxed())
}

async fn examined<S: Layered<Refusal>>(
    mut inner: S,
    request: Request<Body>,
    readiness: Arc<dyn Readiness>,
    pools: Arc<Pools>,
) -> Result<Response<Body>, Refusal> {
    match request.uri().path() {
        "/healthz" => only_get(&request).map(|()| said(&Condition { status: "alive", ..Condition::default() })),
        "/readyz" => {
            only_get(&request)?;
            if pools.exhausted() {
                return Err(Refusal::Overloaded);
            }
            let allowed = context(request.extensions()).remaining();
            let ready = tokio::time::timeout(allowed, readiness.ready()).await;
            ready.unwrap_or(Err(Refusal::DeadlineExceeded { maybe_done: false })).map(|condition| said(&condition))
        }
        _ => inner.call(request).await,
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

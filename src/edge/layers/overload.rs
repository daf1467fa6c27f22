//! Refuses what is more than the gateway serves at once, instead of letting it queue.

use super::Layered;
use crate::edge::body::{Body, watched};
use crate::edge::dispatch::is_pass_through;
use crate::refusal::Refusal;
use futures_util::FutureExt;
use http::{Request, Response};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tower::service_fn;

/// Serves as many requests at once as there are `permits`.
pub(in crate::edge) fn overload<S: Layered<Refusal>>(inner: S, permits: Arc<Semaphore>) -> impl Layered<Refusal> {
    service_fn(move |request| permitted(inner.clone(), request, permits.clone()).boxed())
}

/// A pass-through answer holds its permit to its last byte, for as long it holds a connection to v1.
async fn permitted<S: Layered<Refusal>>(
    mut inner: S,
    request: Request<Body>,
    permits: Arc<Semaphore>,
) -> Result<Response<Body>, Refusal> {
    let permit = permits.try_acquire_owned().map_err(|_| Refusal::Overloaded)?;
    let streams = is_pass_through(request.uri().path());
    let response = inner.call(request).await?;
    Ok(if streams { response.map(|body| watched(body, permit)) } else { response })
}

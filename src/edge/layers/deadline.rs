//! Ends what is not answered by its deadline. The pass-through has a time limit of its own instead.

use super::layer::{Layered, context};
use crate::edge::body::Body;
use crate::edge::paths::is_pass_through;
use crate::refusal::Refusal;
use futures_util::FutureExt;
use http::{Method, Request, Response};
use tower::service_fn;

/// Refuses with `deadline_exceeded` when the context's deadline passes.
pub(in crate::edge) fn deadline<S: Layered<Refusal>>(inner: S) -> impl Layered<Refusal> {
    service_fn(move |request| in_time(inner.clone(), request).boxed())
}

async fn in_time<S: Layered<Refusal>>(mut inner: S, request: Request<Body>) -> Result<Response<Body>, Refusal> {
    if is_pass_through(request.uri().path()) {
        return inner.call(request).await;
    }
    let maybe_done = !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let allowed = context(request.extensions()).remaining();
    let answer = tokio::time::timeout(allowed, inner.call(request)).await;
    answer.unwrap_or(Err(Refusal::DeadlineExceeded { maybe_done }))
}

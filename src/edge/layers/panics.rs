//! A panic while answering becomes an `internal_error`, and the connection lives on.

use super::layer::Layered;
use crate::edge::body::Body;
use crate::refusal::Refusal;
use crate::telemetry::panic_message;
use futures_util::FutureExt;
use http::{Request, Response};
use std::panic::AssertUnwindSafe;
use tower::service_fn;

/// Catches panics of everything inside.
pub(in crate::edge) fn panics<S: Layered<Refusal>>(inner: S) -> impl Layered<Refusal> {
    service_fn(move |request| caught(inner.clone(), request).boxed())
}

/// Nothing of the request is used after a panic, so no broken state can be seen.
async fn caught<S: Layered<Refusal>>(mut inner: S, request: Request<Body>) -> Result<Response<Body>, Refusal> {
    let work = AssertUnwindSafe(async move { inner.call(request).await });
    work.catch_unwind()
        .await
        .unwrap_or_else(|panic| Err(Refusal::internal(format_args!("panic: {}", panic_message(&*panic)))))
}

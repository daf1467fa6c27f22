//! A panic while answering becomes an `internal_error`, and the connection lives on.

use crate::edge::body::Body;
use crate::refusal::Refusal;
use crate::telemetry::panic_message;
use futures_util::FutureExt;
use http::Response;
use std::future::Future;
use std::panic::AssertUnwindSafe;

/// What `answer` gives. Nothing of the request is used after a panic, so no broken state can be seen.
pub(in crate::edge) async fn catching(
    answer: impl Future<Output = Result<Response<Body>, Refusal>>,
) -> Result<Response<Body>, Refusal> {
    let caught = AssertUnwindSafe(answer).catch_unwind().await;
    caught.unwrap_or_else(|panic| Err(Refusal::internal(format_args!("panic: {}", panic_message(&*panic)))))
}

//! A panic while answering becomes an `internal_error`, and the connection lives on. May use: `refusal`, `telemetry`,
//! this folder.

use crate::edge::body::Body;
use crate::refusal::Refusal;
use crate::telemetry::panic_message;
use futures_util::FutureExt;
use http::Response;
use std::future::Future;
use std::panic::AssertUnwindSafe;

/// What `answer` gives. Nothing of the request is used after a panic, so no broken state can be seen.
///
/// Not an `async fn`, which would hold `answer` twice: as it was given and as it is waited for.
pub(in crate::edge) fn catching(
    answer: impl Future<Output = Result<Response<Body>, Refusal>>,
) -> impl Future<Output = Result<Response<Body>, Refusal>> {
    AssertUnwindSafe(answer).catch_unwind().map(|caught| {
        caught.unwrap_or_else(|panic| Err(Refusal::internal(format_args!("panic: {}", panic_message(&*panic)))))
    })
}

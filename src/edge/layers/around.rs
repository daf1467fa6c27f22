//! Layers around the work on an answer: HEAD is GET without the body (O7), a panic becomes an `internal_error` and the
//! connection continues, and work without an answer by its deadline is ended. The pass-through has a time limit of its
//! own, and leaves HEAD to v1. May use: `refusal`, `telemetry`, this folder.

use super::companion::context;
use crate::edge::body::{self, Body};
use crate::edge::pools::is_pass_through;
use crate::refusal::Refusal;
use crate::telemetry::panic_message;
use futures_util::FutureExt;
use http::header::CONTENT_LENGTH;
use http::{Method, Request, Response, StatusCode};
use http_body::Body as _;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use tokio::time::timeout_at;

/// Turns a HEAD into a GET; returns whether it was a HEAD.
pub(in crate::edge) fn as_get(request: &mut Request<Body>) -> bool {
    let head = request.method() == Method::HEAD && !is_pass_through(request.uri().path());
    if head {
        *request.method_mut() = Method::GET;
    }
    head
}

/// Removes the body of an answer and keeps its head, with `Content-Length`. A 304 gets no `Content-Length`: it would
/// have to be the length of the whole answer (RFC 9110, 8.6), which is not known.
pub(in crate::edge) fn without_body(response: Response<Body>) -> Response<Body> {
    let (mut parts, body) = response.into_parts();
    let size = body.size_hint().exact().filter(|_| parts.status != StatusCode::NOT_MODIFIED);
    if let Some(size) = size {
        parts.headers.entry(CONTENT_LENGTH).or_insert_with(|| size.into());
    }
    Response::from_parts(parts, body::empty())
}

/// Runs `answer` and turns a panic into a refusal. Nothing of the request is used after a panic, so no broken state can
/// be seen.
///
/// Not an `async fn`, which would hold `answer` twice: as the argument and as the awaited future.
pub(in crate::edge) fn catching(
    answer: impl Future<Output = Result<Response<Body>, Refusal>>,
) -> impl Future<Output = Result<Response<Body>, Refusal>> {
    AssertUnwindSafe(answer).catch_unwind().map(|caught| {
        caught.unwrap_or_else(|panic| Err(Refusal::internal(format_args!("panic: {}", panic_message(&*panic)))))
    })
}

/// Runs `answer` on the request; returns `deadline_exceeded` when the deadline of its context passes before.
pub(in crate::edge) async fn in_time<F>(
    request: Request<Body>,
    answer: impl FnOnce(Request<Body>) -> F,
) -> Result<Response<Body>, Refusal>
where
    F: Future<Output = Result<Response<Body>, Refusal>>,
{
    let (safe, context) = (request.method().is_safe(), context(request.extensions()));
    let answer = {
        // Pinned here, because the timer would move the future and so need its memory again.
        let answering = pin!(answer(request));
        timeout_at(context.deadline.into(), answering).await
    };
    let maybe_done = || !safe && !context.meter.stay_unchanged();
    answer.unwrap_or_else(|_| Err(Refusal::DeadlineExceeded { maybe_done: maybe_done() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;
    use std::sync::Arc;
    use std::time::Duration;

    #[tokio::test]
    async fn a_request_that_only_waited_was_not_carried_out() {
        for (method, waits, begins, told) in [
            ("GET", false, false, false),
            ("POST", false, false, true),
            ("POST", true, false, false),
            ("POST", true, true, true),
        ] {
            let context = Context::new("r", Duration::from_millis(10));
            let meter = Arc::clone(&context.meter);
            let request = Request::builder().method(method).extension(context.clone());
            let answer = in_time(request.body(Body::default()).expect("a request"), |_| async move {
                if waits {
                    context.meter.only_wait();
                }
                if begins {
                    context.meter.begin_to_write();
                }
                std::future::pending().await
            });
            let Err(Refusal::DeadlineExceeded { maybe_done }) = answer.await else { panic!("no deadline") };
            assert_eq!(maybe_done, told, "{method} {waits} {begins}");
            // The task of a write goes on, and must not do what its client was told not to be done.
            assert_eq!(meter.begin_to_write(), told || !waits, "{method} {waits} {begins}");
        }
    }
}

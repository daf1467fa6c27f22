//! Ends what is not answered by its deadline. The pass-through has a time limit of its own instead. May use:
//! `refusal`, this folder.

use super::companion::context;
use crate::edge::body::Body;
use crate::refusal::Refusal;
use http::{Request, Response};
use std::future::Future;

/// What `answer` makes of the request, or `deadline_exceeded` when the deadline of its context passes before.
pub(in crate::edge) async fn in_time<F>(
    request: Request<Body>,
    answer: impl FnOnce(Request<Body>) -> F,
) -> Result<Response<Body>, Refusal>
where
    F: Future<Output = Result<Response<Body>, Refusal>>,
{
    let (safe, context) = (request.method().is_safe(), context(request.extensions()));
    let answer = tokio::time::timeout(context.remaining(), answer(request)).await;
    let maybe_done = || !safe && !context.meter.has_only_waited();
    answer.unwrap_or_else(|_| Err(Refusal::DeadlineExceeded { maybe_done: maybe_done() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;
    use std::time::Duration;

    #[tokio::test]
    async fn what_has_only_waited_was_not_carried_out() {
        for (method, waits, begins, told) in [
            ("GET", false, false, false),
            ("POST", false, false, true),
            ("POST", true, false, false),
            ("POST", true, true, true),
        ] {
            let context = Context::new("r", Duration::from_millis(10));
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
        }
    }
}

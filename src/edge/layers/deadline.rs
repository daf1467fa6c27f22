//! Ends what is not answered by its deadline. The pass-through has a time limit of its own instead.

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
    let maybe_done = !request.method().is_safe();
    let allowed = context(request.extensions()).remaining();
    let answer = tokio::time::timeout(allowed, answer(request)).await;
    answer.unwrap_or(Err(Refusal::DeadlineExceeded { maybe_done }))
}

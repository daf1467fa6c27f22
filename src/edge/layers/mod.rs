//! The layers of the stack, one a file; `edge::stack` says in which order and why.
//!
//! A layer is a function from the service inside to the service outside. Inside `answer` services fail
//! with a `Refusal`, outside they never fail.
//!
//! May use: `context`, `limits`, `load`, `refusal`, `settings`, `telemetry`, `edge::body`, `edge::door`,
//! `edge::intake`, `edge::outgoing`, `edge::pools`, `edge::problem`, `edge::public_base`.

mod access_log;
mod answer;
mod companion;
mod cors;
mod deadline;
mod door;
mod head;
mod health;
mod overload;
mod panics;

pub(super) use access_log::access_log;
pub(super) use answer::answer;
pub(super) use companion::{REQUEST_ID, companion};
pub(super) use cors::cors;
pub(super) use deadline::deadline;
pub(super) use door::door;
pub(super) use head::head;
pub(super) use health::health;
pub(super) use overload::overload;
pub(super) use panics::panics;

use super::body::Body;
use crate::context::Context;
use futures_util::future::BoxFuture;
use http::{Extensions, Request, Response};
use std::time::Duration;
use tower::Service;

/// What a service gives while it works.
pub(super) type Answering<E> = BoxFuture<'static, Result<Response<Body>, E>>;

/// What every layer wraps and is: a service that is always ready and fails with `E`.
pub(super) trait Layered<E>:
    Service<Request<Body>, Response = Response<Body>, Error = E, Future = Answering<E>> + Clone + Send + Sync + 'static
{
}

impl<S, E> Layered<E> for S where
    S: Service<Request<Body>, Response = Response<Body>, Error = E, Future = Answering<E>>
        + Clone
        + Send
        + Sync
        + 'static
{
}

/// The context that `companion` put there.
pub(super) fn context(extensions: &Extensions) -> Context {
    extensions.get::<Context>().cloned().unwrap_or_else(|| Context::new("none", Duration::ZERO))
}

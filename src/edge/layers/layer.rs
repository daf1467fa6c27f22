//! What every layer wraps and is.

use crate::context::Context;
use crate::edge::body::Body;
use futures_util::future::BoxFuture;
use http::{Extensions, Request, Response};
use std::time::Duration;
use tower::Service;

/// What a service gives while it works.
pub(in crate::edge) type Answering<E> = BoxFuture<'static, Result<Response<Body>, E>>;

/// What every layer wraps and is: a service that is always ready and fails with `E`.
pub(in crate::edge) trait Layered<E>:
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
pub(in crate::edge) fn context(extensions: &Extensions) -> Context {
    extensions.get::<Context>().cloned().unwrap_or_else(|| Context::new("none", Duration::ZERO))
}

//! HEAD as GET without the body (O7); the pass-through leaves HEAD to v1.

use super::layer::Layered;
use crate::edge::body::{self, Body};
use crate::edge::paths::is_pass_through;
use futures_util::FutureExt;
use http::header::CONTENT_LENGTH;
use http::{Method, Request, Response};
use http_body::Body as _;
use std::convert::Infallible;
use tower::service_fn;

/// Answers HEAD with the head of GET, its `Content-Length` included.
pub(in crate::edge) fn head<S: Layered<Infallible>>(inner: S) -> impl Layered<Infallible> {
    service_fn(move |request| headed(inner.clone(), request).boxed())
}

async fn headed<S: Layered<Infallible>>(
    mut inner: S,
    mut request: Request<Body>,
) -> Result<Response<Body>, Infallible> {
    if request.method() != Method::HEAD || is_pass_through(request.uri().path()) {
        return inner.call(request).await;
    }
    *request.method_mut() = Method::GET;
    inner.call(request).await.map(without_body)
}

fn without_body(response: Response<Body>) -> Response<Body> {
    let (mut parts, body) = response.into_parts();
    if let Some(size) = body.size_hint().exact() {
        parts.headers.entry(CONTENT_LENGTH).or_insert_with(|| size.into());
    }
    Response::from_parts(parts, body::empty())
}

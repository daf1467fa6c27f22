//! HEAD as GET without the body (O7); the pass-through leaves HEAD to v1. May use: this folder.

use crate::edge::body::{self, Body};
use crate::edge::paths::is_pass_through;
use http::header::CONTENT_LENGTH;
use http::{Method, Request, Response};
use http_body::Body as _;

/// Makes a HEAD a GET; whether it was one.
pub(in crate::edge) fn as_get(request: &mut Request<Body>) -> bool {
    let head = request.method() == Method::HEAD && !is_pass_through(request.uri().path());
    if head {
        *request.method_mut() = Method::GET;
    }
    head
}

/// The head of the answer to a GET, its `Content-Length` included.
pub(in crate::edge) fn without_body(response: Response<Body>) -> Response<Body> {
    let (mut parts, body) = response.into_parts();
    if let Some(size) = body.size_hint().exact() {
        parts.headers.entry(CONTENT_LENGTH).or_insert_with(|| size.into());
    }
    Response::from_parts(parts, body::empty())
}

//! What a page of the operators' listener is, and the answers most of them give.
//!
//! May use: nothing of this crate.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::{CONTENT_TYPE, LOCATION};
use http::{HeaderValue, Request, Response, StatusCode};

/// What a page without scripts may do: nothing but show its own styles and pictures and send its own forms.
pub(super) const POLICY: &str = "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
    form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A page, or several below one path.
///
/// Whoever asks has been let in already, a POST comes with the token and from no other site, and bodies are read and
/// small. Answers get `Cache-Control: no-store` and a policy that allows no scripts, unless they bring their own.
pub trait AdminPage: Send + Sync + 'static {
    /// Where it is, such as `/metrics`; with a slash at the end everything below belongs to it too.
    fn path(&self) -> &'static str;

    /// What the start page calls it.
    fn title(&self) -> &'static str;

    /// Answers a GET or POST; HEAD arrives as GET.
    fn answer(&self, request: Request<Bytes>) -> BoxFuture<'static, Response<Bytes>>;
}

/// A page in HTML. The text is sent as it is: escape what clients have said.
pub fn html(status: StatusCode, text: impl Into<Bytes>) -> Response<Bytes> {
    of_type(status, "text/html; charset=utf-8", text.into())
}

/// Plain text.
pub fn text(status: StatusCode, text: impl Into<Bytes>) -> Response<Bytes> {
    of_type(status, "text/plain; charset=utf-8", text.into())
}

/// What follows a change: the page at `path`, so that going back or reloading changes nothing again.
pub fn see_other(path: &str) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = StatusCode::SEE_OTHER;
    let path = HeaderValue::try_from(path).unwrap_or(HeaderValue::from_static("/"));
    response.headers_mut().insert(LOCATION, path);
    response
}

fn of_type(status: StatusCode, media: &'static str, body: Bytes) -> Response<Bytes> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media));
    response
}

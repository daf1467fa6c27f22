//! What a page of the operators' listener is, and the answers most of them give.
//!
//! May use: nothing of this crate.

use askama::Template;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::{CONTENT_TYPE, LOCATION};
use http::{HeaderValue, Request, Response, StatusCode};
use std::sync::Arc;

/// A page, or several below one path.
///
/// Everybody who asks has been let in already, a POST comes with the token and from no other site, and bodies are read
/// and small. Answers get `Cache-Control: no-store` and a policy that allows no scripts, unless they bring their own.
pub trait AdminPage: Send + Sync + 'static {
    /// Where it is, such as `/metrics`; with a slash at the end everything below belongs to it too.
    fn path(&self) -> &'static str;

    /// What the start page calls it.
    fn title(&self) -> &'static str;

    /// Answers a GET or POST; HEAD arrives as GET.
    fn answer(&self, request: Request<Bytes>) -> BoxFuture<'static, Response<Bytes>>;
}

#[derive(Template)]
#[template(path = "operators.html")]
struct Home {
    /// Where each page is and what it is called.
    pages: Vec<(&'static str, &'static str)>,
}

/// The start page: links to `pages`.
pub(super) fn home(pages: &[Arc<dyn AdminPage>]) -> Response<Bytes> {
    rendered(&Home { pages: pages.iter().map(|page| (page.path(), page.title())).collect() })
}

pub fn rendered(page: &impl Template) -> Response<Bytes> {
    match page.render() {
        Ok(page) => of_type(StatusCode::OK, "text/html; charset=utf-8", page.into()),
        Err(fault) => {
            tracing::error!(%fault, "a page for operators could not be written");
            text(StatusCode::INTERNAL_SERVER_ERROR, "The page could not be written; the log says why.\n")
        }
    }
}

pub fn text(status: StatusCode, text: impl Into<Bytes>) -> Response<Bytes> {
    of_type(status, "text/plain; charset=utf-8", text.into())
}

/// What follows a change: the page at `path`, so that going back or reloading changes nothing again.
pub(super) fn see_other(path: &str) -> Response<Bytes> {
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

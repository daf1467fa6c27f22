//! The interface of a page of the operators' listener, and the answers that most pages give.
//!
//! May use: nothing of this crate.

use askama::Template;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::{CONTENT_TYPE, LOCATION};
use http::{HeaderValue, Request, Response, StatusCode};
use std::sync::Arc;

/// A page, or several pages below one path.
///
/// Requests are already admitted, a POST has the token and comes from no other site, and bodies are complete and small.
/// Answers get `Cache-Control: no-store` and a policy that allows no scripts, unless they set their own.
pub trait AdminPage: Send + Sync + 'static {
    /// Returns its path, such as `/metrics`. With a slash at the end, all paths below belong to it too.
    fn path(&self) -> &'static str;

    /// Returns its name on the start page.
    fn title(&self) -> &'static str;

    /// Answers a GET or POST; HEAD arrives as GET.
    fn answer(&self, request: Request<Bytes>) -> BoxFuture<'static, Response<Bytes>>;
}

#[derive(Template)]
#[template(path = "operators.html")]
struct Home {
    /// Path and name of each page.
    pages: Vec<(&'static str, &'static str)>,
}

/// Builds the start page: links to `pages`.
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

/// Redirects to the page at `path` after a change, so that going back or reloading does not repeat the change.
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

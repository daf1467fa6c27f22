//! The pages as templates.
//!
//! May use: `edge`, `html`, `refusal`, `front::codes`.

use super::codes::Meaning;
use crate::edge::{Body, full};
use crate::html::{self, INLINE, NOWHERE};
use crate::refusal::Refusal;
use askama::Template;
use http::header::{CACHE_CONTROL, VARY};
use http::{HeaderValue, Response, StatusCode};

#[derive(Template)]
#[template(path = "home.html")]
pub(super) struct Home<'a> {
    pub(super) base: &'a str,
}

#[derive(Template)]
#[template(path = "code.html")]
pub(super) struct Code<'a> {
    pub(super) base: &'a str,
    pub(super) status: u16,
    pub(super) meaning: &'a Meaning,
}

#[derive(Template)]
#[template(path = "nothing.html")]
pub(super) struct NotFoundPage<'a> {
    pub(super) base: &'a str,
    /// The requested path, as the client wrote it.
    pub(super) path: &'a str,
}

pub(super) fn as_answer(status: StatusCode, page: &impl Template) -> Result<Response<Body>, Refusal> {
    let mut response = Response::new(full(page.render().map_err(Refusal::internal)?));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(VARY, HeaderValue::from_static("accept"));
    html::page(headers, INLINE, NOWHERE);
    Ok(response)
}

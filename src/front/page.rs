//! The pages as templates, with the headers that keep them from being framed or led astray.
//!
//! May use: `edge`, `refusal`.

use crate::edge::{Body, full};
use crate::refusal::Refusal;
use askama::Template;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use http::{HeaderValue, Response, StatusCode};

/// Nothing but what stands in the page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

#[derive(Template)]
#[template(path = "home.html")]
pub(super) struct Home<'a> {
    pub(super) base: &'a str,
}

#[derive(Template)]
#[template(path = "code.html")]
pub(super) struct Code<'a> {
    pub(super) base: &'a str,
    pub(super) code: &'a str,
    pub(super) status: u16,
    pub(super) means: &'a str,
    pub(super) todo: &'a str,
}

#[derive(Template)]
#[template(path = "nothing.html")]
pub(super) struct Nothing<'a> {
    pub(super) base: &'a str,
    /// What was looked for, as the client wrote it.
    pub(super) path: &'a str,
}

/// A page as an answer.
pub(super) fn html(status: StatusCode, page: &impl Template) -> Result<Response<Body>, Refusal> {
    let mut response = Response::new(full(page.render().map_err(Refusal::internal)?));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-cache"),
        (VARY, "accept"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

//! The pages as templates, and the redirects back to apps.
//!
//! May use: `edge`, `html`, `protocol::redirect`, `plan::scopes`.

use crate::edge::{Body, empty, full};
use crate::html;
use crate::plan::scopes;
use askama::Template;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::LOCATION;
use http::{HeaderValue, Response, StatusCode};
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

/// The style sheet of all pages. It is part of each page, so that a page needs no other file.
pub(super) const STYLE: &str = include_str!("../templates/style.css");

/// The policy source that allows the style.
static STYLE_SOURCE: LazyLock<String> =
    LazyLock::new(|| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(STYLE.as_bytes()))));

/// Answer to a browser; `Err` is a page that says why the request failed.
pub(super) type Page = Result<Response<Body>, Response<Body>>;

pub(super) struct ScopeLine {
    pub(super) name: String,
    pub(super) words: String,
}

pub(super) fn lines(scopes: &[String]) -> Vec<ScopeLine> {
    let line = |scope: &String| ScopeLine { name: scope.clone(), words: scopes::sentence(scope) };
    scopes.iter().map(line).collect()
}

#[derive(Template)]
#[template(path = "failure.html")]
struct Failure<'a> {
    style: &'static str,
    title: &'a str,
    text: &'a str,
}

/// Builds a page that says why the request failed.
pub(super) fn failure(status: u16, title: &str, text: &str) -> Response<Body> {
    as_answer(status, &Failure { style: STYLE, title, text }, "")
}

/// Builds the page for a form that cannot be accepted.
pub(super) fn stale(title: &str) -> Response<Body> {
    failure(403, title, "This page is too old, or was opened in another browser.")
}

/// Builds a page. Its forms may be sent here, and their answers may redirect to `destination` (a policy source).
pub(super) fn as_answer(status: u16, page: &impl Template, destination: &str) -> Response<Body> {
    let text = match page.render() {
        Ok(text) => text,
        Err(fault) => {
            tracing::error!(cause = %fault, "a page could not be written");
            return status_only(500);
        }
    };
    let mut response = Response::new(full(text));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    html::page(response.headers_mut(), &STYLE_SOURCE, format!("'self' {destination}").trim_end());
    response
}

/// Redirects back to the app after a `GET`, with 302, as the contract declares it.
pub(super) fn redirect(to: &str) -> Response<Body> {
    lead(302, to)
}

/// Redirects back to the app after a form, with 303, so that no form is ever sent on (RFC 9700, 4.12).
pub(super) fn redirect_after_form(to: &str) -> Response<Body> {
    lead(303, to)
}

fn lead(status: u16, to: &str) -> Response<Body> {
    let Ok(location) = HeaderValue::from_str(to) else {
        return failure(400, "This cannot be done", "The address of the app cannot be used.");
    };
    let mut response = status_only(status);
    response.headers_mut().insert(LOCATION, location);
    response
}

fn status_only(status: u16) -> Response<Body> {
    let mut response = Response::new(empty());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    // The address holds a code: no cache may store the answer, and no referrer may carry the address.
    html::private(response.headers_mut());
    response
}

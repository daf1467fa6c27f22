//! Answers requests for these pages.
//!
//! May use: `context`, `edge`, `plan` (the codes), `refusal`, `front::codes`, `front::page`.

use super::codes::{Meaning, meaning};
use super::page::{Code, Home, NotFoundPage, as_answer};
use crate::context::Context;
use crate::edge::{Body, Pages, PublicBase, empty, full, weight};
use crate::plan::codes::status_of;
use crate::refusal::Refusal;
use futures_util::future::BoxFuture;
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, LOCATION, VARY};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use serde_json::json;

/// Path of the pages of the codes; problems point there.
const ERRORS: &str = "/errors/";
/// Path of the documentation without its final slash.
const DOCS: &str = "/api/v2/docs";
/// Path of v2 without its final slash; both interfaces answer only below a slash.
const V2: &str = "/api/v2";
/// Paths that never get a page: both interfaces and the authorization server send their own answers.
const OTHERS: [&str; 4] = ["/api/v1/", "/api/v2/", "/auth/", "/.well-known/"];

#[derive(Debug, Clone, Copy)]
pub struct Front;

/// Checks whether there is something to see at `path`.
pub(crate) fn is_page(path: &str) -> bool {
    matches!(path, "/" | DOCS) || code_of(path).is_some()
}

/// Returns the explanation at the path of a code; none for other paths.
fn code_of(path: &str) -> Option<&'static Meaning> {
    path.strip_prefix(ERRORS).map(|code| code.trim_end_matches('/')).and_then(meaning)
}

impl Pages for Front {
    fn has(&self, path: &str) -> bool {
        path == DOCS || path != V2 && !OTHERS.iter().any(|other| path.starts_with(other))
    }

    fn answer(&self, request: Request<Body>, _: Context) -> BoxFuture<'static, Result<Response<Body>, Refusal>> {
        Box::pin(std::future::ready(answer(&request)))
    }
}

fn answer(request: &Request<Body>) -> Result<Response<Body>, Refusal> {
    let path = request.uri().path();
    let base = request.extensions().get::<PublicBase>().map(ToString::to_string).unwrap_or_default();
    let base = base.trim_end_matches('/');
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let person = reads && wants_page(request.headers());
    match (path, code_of(path)) {
        ("/", _) | (DOCS, _) | (_, Some(_)) if !reads => {
            Err(Refusal::MethodNotAllowed { allow: vec!["GET", "HEAD"] })
        }
        ("/", _) if person => as_answer(StatusCode::OK, &Home { base }),
        ("/", _) => Ok(entry(base)),
        (DOCS, _) => {
            let mut response = Response::new(empty());
            *response.status_mut() = StatusCode::PERMANENT_REDIRECT;
            let to = HeaderValue::try_from(format!("{base}{DOCS}/")).map_err(Refusal::internal)?;
            response.headers_mut().insert(LOCATION, to);
            Ok(response)
        }
        (_, Some(meaning)) => {
            // The only code that v2 does not have is the one for operations of v1 that have ended.
            let status = status_of(meaning.code).unwrap_or(410);
            if person {
                return as_answer(StatusCode::OK, &Code { base, status, meaning });
            }
            let told = json!({"code": meaning.code, "status": status, "means": meaning.means, "do": meaning.todo});
            Ok(document(&told))
        }
        _ if person => as_answer(StatusCode::NOT_FOUND, &NotFoundPage { base, path }),
        _ => Err(Refusal::NotFound { detail: "There is nothing at this path.".into() }),
    }
}

/// Builds the list of all addresses, for machines.
fn entry(base: &str) -> Response<Body> {
    document(&json!({
        "name": "Causeway",
        "v2": format!("{base}/api/v2/"),
        "v1": format!("{base}/api/v1/"),
        "documentation": format!("{base}{DOCS}/"),
        "openapi": format!("{base}/api/v2/docs/openapi.json"),
    }))
}

fn document(value: &serde_json::Value) -> Response<Body> {
    let mut response = Response::new(full(value.to_string()));
    for (name, value) in [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-cache"), (VARY, "accept")] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Checks whether a client asks for HTML by name, as browsers do; machines send `*/*`.
fn wants_page(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.any(|value| {
        value.split(',').any(|range| {
            let mut parts = range.split(';').map(str::trim);
            let html = parts.next().is_some_and(|media| media.eq_ignore_ascii_case("text/html"));
            html && weight(parts) > 0.0
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_for_those_who_name_it() {
        let wants = |accept: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, accept.parse().unwrap());
            wants_page(&headers)
        };
        assert!(wants("text/html,application/xhtml+xml,*/*;q=0.8") && wants("application/json, Text/HTML;q=0.1"));
        assert!(!wants("*/*") && !wants("application/json") && !wants("text/html;q=0, */*"));
        assert!(!wants_page(&HeaderMap::new()));
    }

    #[test]
    fn others_answer_for_themselves() {
        for path in ["/", "/errors/forbidden", "/nothing", "/api/v2/docs", "/api/", "/favicon.ico"] {
            assert!(Front.has(path), "{path}");
        }
        for path in ["/api/v2/docs/", "/api/v2/users/me/", "/api/v2", "/api/v1/x", "/auth/o/token/"] {
            assert!(!Front.has(path), "{path}");
        }
    }
}

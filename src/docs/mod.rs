//! The documentation page at `/api/v2/docs/`.
//!
//! Purpose: a page that shows the OpenAPI document and sends requests with a key, complete in the program:
//! nothing is loaded from another host, and the policy sent with every part forbids it. No credential is
//! asked for, and `openapi.json` below the page is open too: the document holds nothing that is not in
//! the source tree, and whoever cannot send a request yet is the one who needs it.
//!
//! May use: `context`, `describe`, `edge`, `refusal`.

mod assets;

use crate::context::Context;
use crate::describe::openapi::{Document, Format};
use crate::edge::{Body, Pages, PublicBase, empty, full};
use crate::refusal::Refusal;
use assets::{DOCUMENT, Part};
use futures_util::future::BoxFuture;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderValue, Request, Response, StatusCode};
use std::sync::Arc;

/// Where the page is.
const ROOT: &str = "/api/v2/docs/";

/// Nothing but this host. Swagger UI sets styles from its script and has its icons as data.
const POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
    object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The page and its parts.
#[derive(Clone)]
pub struct DocsPage {
    document: Arc<Document>,
}

impl DocsPage {
    /// Shows `document`.
    pub fn new(document: Arc<Document>) -> Self {
        Self { document }
    }

    fn respond(&self, request: &Request<Body>) -> Result<Response<Body>, Refusal> {
        if !["GET", "HEAD"].contains(&request.method().as_str()) {
            return Err(Refusal::MethodNotAllowed { allow: vec!["GET", "HEAD"] });
        }
        let part = self.part(request)?;
        let known = request.headers().get_all(IF_NONE_MATCH).iter().any(|value| value == part.tag.as_str());
        let mut response = Response::new(if known { empty() } else { full(part.bytes) });
        if known {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(part.media));
        headers.insert(ETAG, HeaderValue::try_from(part.tag).map_err(Refusal::internal)?);
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        Ok(response)
    }

    fn part(&self, request: &Request<Body>) -> Result<Part, Refusal> {
        let name = request.uri().path().strip_prefix(ROOT).unwrap_or_default();
        if name == DOCUMENT {
            let base = request.extensions().get::<PublicBase>();
            let base = base.ok_or_else(|| Refusal::internal("no public address"))?.as_str();
            let text = self.document.text(Format::Json, base);
            let tag = self.document.tag(Format::Json, base);
            return Ok(Part { bytes: text.into(), media: "application/json", tag });
        }
        assets::find(name).ok_or_else(|| Refusal::NotFound { detail: "The documentation has no such part.".into() })
    }
}

impl Pages for DocsPage {
    fn has(&self, path: &str) -> bool {
        path.starts_with(ROOT)
    }

    fn answer(&self, request: Request<Body>, _: Context) -> BoxFuture<'static, Result<Response<Body>, Refusal>> {
        Box::pin(std::future::ready(self.respond(&request)))
    }
}

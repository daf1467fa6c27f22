//! The documentation page at `/api/v2/docs/`.
//!
//! Purpose: a page that shows the OpenAPI document and sends requests with a key. The program contains all of it:
//! nothing is loaded from another host, and the policy sent with every part forbids that. No credential is
//! needed for it, nor for `openapi.json` below the page: the document contains only what is in the source tree, and
//! people who cannot send a request yet need it most.
//!
//! People without a key log in with OAuth: `login.json` names the client that an operator has registered for the page.
//! This client is public and has the address of `oauth2-redirect.html` below the page.
//!
//! May use: `context`, `describe`, `edge`, `oauth`, `refusal`.

use crate::context::Context;
use crate::describe::openapi::{Document, Format};
use crate::edge::{Body, Pages, PublicBase, empty, full, known_versions};
use crate::oauth::OAuth;
use crate::refusal::Refusal;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use http::{HeaderValue, Request, Response, StatusCode};
use rust_embed::RustEmbed;
use serde_json::json;
use std::borrow::Cow;
use std::sync::Arc;

const ROOT: &str = "/api/v2/docs/";
/// Name of the part that names the page's OAuth client.
const LOGIN: &str = "login.json";
/// Path where a login ends, below the page.
pub const REDIRECT: &str = "/api/v2/docs/oauth2-redirect.html";

/// Allows this host only. Swagger UI sets styles from its script and has its icons as data.
const POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
    object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The page and its parts.
#[derive(Clone)]
pub struct DocsPage {
    document: Arc<Document>,
    oauth: OAuth,
}

impl DocsPage {
    /// Creates the page for `document`; people log in at `oauth`.
    pub fn new(document: Arc<Document>, oauth: OAuth) -> Self {
        Self { document, oauth }
    }

    async fn respond(self, request: Request<()>) -> Result<Response<Body>, Refusal> {
        if !["GET", "HEAD"].contains(&request.method().as_str()) {
            return Err(Refusal::MethodNotAllowed { allow: vec!["GET", "HEAD"] });
        }
        match name(&request) {
            LOGIN => self.login(&request).await,
            _ => self.shown(&request),
        }
    }

    /// Answers with the OAuth client of the page.
    async fn login(&self, request: &Request<()>) -> Result<Response<Body>, Refusal> {
        let redirect = format!("{}{REDIRECT}", base(request)?);
        let client = self.oauth.public_client_at(&redirect).await?;
        let scopes = client.as_ref().map(|client| client.scopes.clone()).unwrap_or_default();
        let told = json!({
            "set_up": self.oauth.is_set_up(),
            "client_id": client.map(|client| client.id),
            "redirect_uri": redirect,
            "scopes": scopes,
        });
        let mut response = Response::new(full(told.to_string()));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Ok(response)
    }

    fn shown(&self, request: &Request<()>) -> Result<Response<Body>, Refusal> {
        let part = self.part(request)?;
        let known = known_versions(request.headers()).is_some_and(|known| known.has(&part.tag));
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

    fn part(&self, request: &Request<()>) -> Result<Part, Refusal> {
        let name = name(request);
        if name == DOCUMENT {
            let base = base(request)?;
            let bytes = self.document.bytes(Format::Json, base);
            let tag = self.document.tag(Format::Json, base);
            return Ok(Part { bytes, media: "application/json", tag });
        }
        find(name).ok_or_else(|| Refusal::NotFound { detail: "The documentation has no such part.".into() })
    }
}

/// Returns the name of the requested part below the page.
fn name(request: &Request<()>) -> &str {
    request.uri().path().strip_prefix(ROOT).unwrap_or_default()
}

fn base(request: &Request<()>) -> Result<&str, Refusal> {
    let base = request.extensions().get::<PublicBase>();
    base.map(PublicBase::as_str).ok_or_else(|| Refusal::internal("no public address"))
}

/// Checks whether `path` is the page or one of its parts.
pub(crate) fn is_page(path: &str) -> bool {
    path.starts_with(ROOT)
}

impl Pages for DocsPage {
    fn has(&self, path: &str) -> bool {
        is_page(path)
    }

    fn answer(&self, request: Request<Body>, _: Context) -> BoxFuture<'static, Result<Response<Body>, Refusal>> {
        Box::pin(self.clone().respond(request.map(drop)))
    }
}

#[derive(RustEmbed)]
#[folder = "src/docs/assets/page/"]
struct Files;

/// Returns the file called `name`; the page itself when the name is empty.
fn find(name: &str) -> Option<Part> {
    let name = if name.is_empty() { "index.html" } else { name };
    let file = Files::get(name)?;
    let hash = hex::encode(&file.metadata.sha256_hash()[..8]);
    let bytes = match file.data {
        Cow::Borrowed(bytes) => Bytes::from_static(bytes),
        Cow::Owned(bytes) => Bytes::from(bytes),
    };
    Some(Part { bytes, media: media(name), tag: format!("\"{hash}\"") })
}

fn media(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/plain; charset=utf-8",
    }
}

/// Name of the OpenAPI document below the page.
const DOCUMENT: &str = "openapi.json";

/// One file as it is sent.
struct Part {
    bytes: Bytes,
    media: &'static str,
    tag: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_the_page_names_is_in_the_program() {
        let page = find("").expect("the page");
        let text = String::from_utf8(page.bytes.to_vec()).unwrap();
        let named: Vec<&str> = ["src=\"", "href=\""]
            .iter()
            .flat_map(|attribute| text.split(attribute).skip(1))
            .filter_map(|rest| rest.split('"').next())
            .filter(|name| *name != DOCUMENT)
            .collect();
        assert!(named.len() >= 5, "{named:?}");
        for name in named {
            assert!(!name.contains(':') && !name.starts_with('/'), "{name} is not beside the page");
            assert!(find(name).is_some(), "{name} is missing");
        }
    }

    #[test]
    fn no_style_loads_anything_from_elsewhere() {
        for name in ["page.css", "swagger-ui/swagger-ui.css"] {
            let text = String::from_utf8(find(name).unwrap().bytes.to_vec()).unwrap();
            assert!(!text.contains("@import"), "{name}");
            for target in text.split("url(").skip(1) {
                let target = target.trim_start_matches(['"', '\'']);
                assert!(target.starts_with("data:"), "{name}: {}", target.chars().take(40).collect::<String>());
            }
        }
    }
}

//! The HTTP side of the authorization server, for browsers and apps: paths, methods and handlers.
//!
//! Pages for people are HTML. Endpoints for apps answer JSON in the words of the RFCs. Both send a
//! problem document only for paths and methods that do not exist.
//!
//! May use: this folder, `access`, `edge` (bodies, addresses), `context`, `limits`, `refusal`, `settings` (addresses).

mod consent;
mod endpoints;
mod grants;
mod page;
mod proof;

use super::OAuth;
use super::attempts::WINDOW;
use super::protocol::error::OAuthError;
use super::protocol::metadata::{AUTHORIZATION_SERVER, PROTECTED_RESOURCE, is_document};
use crate::access::Origin;
use crate::context::Context;
use crate::edge::{Body, ClientAddress, Kind, Pages, PublicBase, client_agent, full, read_body};
use crate::limits::Limits;
use crate::refusal::Refusal;
use crate::settings::path_of;
use ::http::header::{CACHE_CONTROL, CONTENT_TYPE, PRAGMA, RETRY_AFTER, WWW_AUTHENTICATE};
use ::http::request::Parts;
use ::http::{HeaderValue, Method, Request, Response, StatusCode};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde::Serialize;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// Prefix of all paths.
const PREFIX: &str = "/auth/o/";
const LARGEST: usize = 64 * 1024;

/// The pages and endpoints of the authorization server.
#[derive(Clone)]
pub struct OAuthPages {
    oauth: OAuth,
    limits: Arc<Limits>,
}

impl OAuthPages {
    pub fn new(oauth: OAuth, limits: Arc<Limits>) -> Self {
        Self { oauth, limits }
    }
}

/// A parsed request.
struct ParsedRequest {
    parts: Parts,
    body: Result<Bytes, Refusal>,
    context: Context,
    /// Address of the gateway as the client knows it; it is also the issuer.
    base: String,
    address: IpAddr,
}

impl ParsedRequest {
    fn header(&self, name: &str) -> Option<&[u8]> {
        self.parts.headers.get(name).map(HeaderValue::as_bytes)
    }

    fn text_header(&self, name: &str) -> Option<&str> {
        self.parts.headers.get(name)?.to_str().ok()
    }

    fn query(&self) -> &str {
        self.parts.uri.query().unwrap_or_default()
    }

    /// Checks whether the client uses TLS, as far as the gateway knows.
    fn is_secure(&self) -> bool {
        self.base.starts_with("https://")
    }

    /// Returns the path that clients use for `path`.
    fn public_path(&self, path: &str) -> String {
        format!("{}{path}", path_of(&self.base))
    }
}

/// Checks whether the authorization server answers requests for `path`.
pub fn is_page(path: &str) -> bool {
    path.starts_with(PREFIX) || path.starts_with(AUTHORIZATION_SERVER) || path.starts_with(PROTECTED_RESOURCE)
}

impl Pages for OAuthPages {
    fn has(&self, path: &str) -> bool {
        is_page(path)
    }

    fn kind(&self) -> Kind {
        Kind::OAuth
    }

    fn answer(
        &self,
        request: Request<Body>,
        context: Context,
    ) -> BoxFuture<'static, Result<Response<Body>, Refusal>> {
        let (parts, body) = request.into_parts();
        let client = parts.extensions.get::<ClientAddress>().map(|client| client.0);
        let origin = Origin { ip: client, user_agent: client_agent(&parts.headers) };
        let pages = Self { oauth: self.oauth.with_origin(origin), limits: Arc::clone(&self.limits) };
        Box::pin(async move {
            let body = read_body(body, LARGEST).await;
            // An overloaded gateway is not an error of the request, so the answer is not an OAuth error.
            if let Err(refusal @ Refusal::Overloaded) = body {
                return Err(refusal);
            }
            let base = parts.extensions.get::<PublicBase>().map(ToString::to_string).unwrap_or_default();
            let address = client.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
            pages.route(ParsedRequest { parts, body, context, base, address }).await
        })
    }
}

impl OAuthPages {
    async fn route(&self, asked: ParsedRequest) -> Result<Response<Body>, Refusal> {
        let path = asked.parts.uri.path().to_owned();
        let prefix = asked.public_path("");
        if is_document(&path, AUTHORIZATION_SERVER, &prefix) && self.oauth.is_set_up() {
            return only(&asked, &["GET"]).map(|()| self.authorization_server(&asked));
        }
        if is_document(&path, PROTECTED_RESOURCE, &prefix) {
            return only(&asked, &["GET"]).map(|()| self.protected_resource(&asked));
        }
        let name = path.strip_prefix(PREFIX).unwrap_or_default();
        let name = name.strip_suffix('/').unwrap_or(name);
        match name {
            "authorize" | "authorize-app" => {
                only(&asked, &["GET", "POST"])?;
                let answer = match asked.parts.method {
                    Method::GET => self.ask(&asked).await,
                    _ => self.decide(&asked).await,
                };
                Ok(answer.unwrap_or_else(|failure| failure))
            }
            "grants" => {
                only(&asked, &["GET", "POST"])?;
                Ok(self.grants(&asked).await.unwrap_or_else(|failure| failure))
            }
            "token" => self.endpoint(&asked, self.token(&asked)).await,
            "revoke" | "revoke-token" => self.endpoint(&asked, self.revoke(&asked)).await,
            "introspect" => self.endpoint(&asked, self.introspect(&asked)).await,
            "register" if self.oauth.inner.settings.registration => {
                self.endpoint(&asked, self.register(&asked)).await
            }
            _ => Err(Refusal::NotFound { detail: "There is nothing at this path.".into() }),
        }
    }

    async fn endpoint(
        &self,
        asked: &ParsedRequest,
        answer: impl Future<Output = Result<Response<Body>, OAuthError>>,
    ) -> Result<Response<Body>, Refusal> {
        only(asked, &["POST"])?;
        Ok(answer.await.unwrap_or_else(|error| refused(&error)))
    }
}

fn only(asked: &ParsedRequest, methods: &[&'static str]) -> Result<(), Refusal> {
    match methods.contains(&asked.parts.method.as_str()) {
        true => Ok(()),
        false => Err(Refusal::MethodNotAllowed { allow: methods.to_vec() }),
    }
}

/// Builds a JSON answer that no cache may store (RFC 6749, 5.1).
fn json(status: u16, content: &impl Serialize) -> Response<Body> {
    let bytes = serde_json::to_vec(content).expect("texts and numbers are always JSON");
    let mut response = Response::new(full(bytes));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(PRAGMA, HeaderValue::from_static("no-cache"));
    response
}

fn refused(error: &OAuthError) -> Response<Body> {
    let mut response = json(error.status, error);
    if error.status == 401 {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"causeway\""));
    }
    if error.status == 429 {
        let wait = error.retry_after.unwrap_or(WINDOW.as_secs());
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(wait));
    }
    response
}

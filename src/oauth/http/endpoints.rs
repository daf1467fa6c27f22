//! Endpoints for apps: token, revocation, introspection, registration, and the documents below `/.well-known/`.
//!
//! May use: `edge`, `plan`, `store`, this folder, `protocol`, `service`.

use super::{OAuthPages, ParsedRequest, json};
use crate::edge::{Body, full};
use crate::oauth::protocol::error::OAuthError;
use crate::oauth::protocol::form::Form;
use crate::oauth::protocol::{client_auth, metadata, registration, token};
use crate::plan::scopes;
use crate::store::oauth::Client;
use http::header::{CACHE_CONTROL, PRAGMA};
use http::{HeaderValue, Response};
use serde_json::{Value, json as object};

impl OAuthPages {
    /// The token endpoint (RFC 6749, 3.2).
    pub(super) async fn token(&self, asked: &ParsedRequest) -> Result<Response<Body>, OAuthError> {
        let (form, client) = self.authenticated(asked).await?;
        let request = token::parse(&form)?;
        Ok(json(200, &self.oauth.token(&client, request, &self.limits, &asked.context).await?))
    }

    /// The revocation endpoint (RFC 7009).
    pub(super) async fn revoke(&self, asked: &ParsedRequest) -> Result<Response<Body>, OAuthError> {
        let (form, client) = self.authenticated(asked).await?;
        self.oauth.revoke(&client, form.need("token")?).await?;
        let mut response = Response::new(full(""));
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Ok(response)
    }

    /// The introspection endpoint (RFC 7662). It requires a client secret, so that nobody can guess tokens here.
    pub(super) async fn introspect(&self, asked: &ParsedRequest) -> Result<Response<Body>, OAuthError> {
        let (form, client) = self.authenticated(asked).await?;
        if client.secret_hash.is_none() {
            return Err(OAuthError::invalid_client());
        }
        let token = form.need("token")?;
        Ok(json(200, &self.oauth.introspect(&client, token, &asked.base, &asked.context).await?))
    }

    /// Registers the calling app (RFC 7591), when registration is enabled. Each address has as many registrations as wrong
    /// keys in a minute, so that nobody can fill the store.
    pub(super) async fn register(&self, asked: &ParsedRequest) -> Result<Response<Body>, OAuthError> {
        if !self.oauth.inner.registrations.take(asked.address) {
            let too_many = "Too many registrations came from this address; wait a minute.";
            return Err(OAuthError { status: 429, ..OAuthError::new("temporarily_unavailable", too_many) });
        }
        let metadata = registration::parse(asked.bytes()?)?;
        let method = metadata.token_endpoint_auth_method.clone();
        let wanted = registration::judge(metadata, |scope| scopes::all().any(|known| known == scope))?;
        let (client, secret) = self.oauth.register(wanted, true).await?;
        let mut answer = object!({
            "client_id": client.id,
            "client_id_issued_at": client.created_at / 1_000_000,
            "client_name": client.name,
            "redirect_uris": client.redirect_uris,
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": method.unwrap_or_else(|| "client_secret_basic".to_owned()),
        });
        if !client.scopes.is_empty() {
            answer["scope"] = client.scopes.join(" ").into();
        }
        if let Some(secret) = secret {
            answer["client_secret"] = secret.into();
            answer["client_secret_expires_at"] = 0.into();
        }
        Ok(json(201, &answer))
    }

    pub(super) fn authorization_server(&self, asked: &ParsedRequest) -> Response<Body> {
        let scopes: Vec<&str> = scopes::all().collect();
        document(&metadata::authorization_server(&asked.base, &scopes, self.oauth.inner.settings.registration))
    }

    pub(super) fn protected_resource(&self, asked: &ParsedRequest) -> Response<Body> {
        let scopes: Vec<&str> = scopes::all().collect();
        document(&metadata::protected_resource(&asked.base, &scopes, self.oauth.is_set_up()))
    }

    /// Returns the body of a request and the client that sent it. Parameters in the address are rejected, because
    /// addresses end up in logs (RFC 6749, 2.3.1).
    async fn authenticated(&self, asked: &ParsedRequest) -> Result<(Form, Client), OAuthError> {
        if !asked.query().is_empty() {
            return Err(OAuthError::invalid_request("Parameters belong into the body, not into the address."));
        }
        let form = Form::body(asked.text_header("content-type"), asked.bytes()?)?;
        let mut authorizations = asked.parts.headers.get_all("authorization").iter();
        if authorizations.nth(1).is_some() {
            return Err(OAuthError::invalid_request("There are two Authorization headers."));
        }
        let claim = client_auth::claim(asked.header("authorization"), &form)?;
        let client = self.oauth.authenticate(&claim).await?;
        Ok((form, client))
    }
}

impl ParsedRequest {
    pub(super) fn bytes(&self) -> Result<&[u8], OAuthError> {
        let unreadable = |_| OAuthError::invalid_request("The body is too large or cannot be read.");
        self.body.as_deref().map_err(unreadable)
    }
}

/// Builds the answer for a document below `/.well-known/`. The documents hold no secrets, but they depend on the
/// requested address, so no cache may store them.
fn document(content: &Value) -> Response<Body> {
    let mut response = json(200, content);
    response.headers_mut().remove(PRAGMA);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("private, max-age=60"));
    response
}

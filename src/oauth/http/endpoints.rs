//! Endpoints for apps: token, revocation, introspection.
//!
//! May use: `edge`, `store`, this folder, `protocol`, `service`.

use super::{Asked, OAuthPages, json};
use crate::edge::{Body, full};
use crate::oauth::protocol::client_auth;
use crate::oauth::protocol::error::OAuthError;
use crate::oauth::protocol::form::Form;
use crate::oauth::protocol::token;
use crate::store::oauth::Client;
use http::header::CACHE_CONTROL;
use http::{HeaderValue, Response};

impl OAuthPages {
    /// RFC 6749, 3.2.
    pub(super) async fn token(&self, asked: &Asked) -> Result<Response<Body>, OAuthError> {
        let (form, client) = self.authenticated(asked).await?;
        let request = token::parse(&form)?;
        Ok(json(200, &self.oauth.token(&client, request, &asked.context).await?))
    }

    /// RFC 7009.
    pub(super) async fn revoke(&self, asked: &Asked) -> Result<Response<Body>, OAuthError> {
        let (form, client) = self.authenticated(asked).await?;
        self.oauth.revoke(&client, form.need("token")?).await?;
        let mut response = Response::new(full(""));
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Ok(response)
    }

    /// RFC 7662; for clients that have a secret, so that nobody tries out tokens here.
    pub(super) async fn introspect(&self, asked: &Asked) -> Result<Response<Body>, OAuthError> {
        let (form, client) = self.authenticated(asked).await?;
        if client.secret_hash.is_none() {
            return Err(OAuthError::invalid_client());
        }
        let token = form.need("token")?;
        Ok(json(200, &self.oauth.introspect(&client, token, &asked.base, &asked.context).await?))
    }

    /// The body of a request and the client that sent it. Parameters in the address end up in logs, so they
    /// are refused (RFC 6749, 2.3.1).
    async fn authenticated(&self, asked: &Asked) -> Result<(Form, Client), OAuthError> {
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

impl Asked {
    /// The body.
    pub(super) fn bytes(&self) -> Result<&[u8], OAuthError> {
        let unreadable = |_| OAuthError::invalid_request("The body is too large or cannot be read.");
        self.body.as_deref().map_err(unreadable)
    }
}

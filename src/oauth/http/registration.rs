//! Dynamic registration (RFC 7591), when it is switched on.
//!
//! May use: `edge`, `plan`, this folder, `protocol::registration`, `admin`.

use super::{Asked, OAuthPages, json};
use crate::edge::Body;
use crate::oauth::protocol::error::OAuthError;
use crate::oauth::protocol::registration;
use crate::plan::scopes;
use http::Response;
use serde_json::json as object;

impl OAuthPages {
    /// Registers the app that asks. Counted like attempts to prove a key, so that nobody fills the store.
    pub(super) async fn register(&self, asked: &Asked) -> Result<Response<Body>, OAuthError> {
        if !self.oauth.inner.attempts.take(asked.address) {
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
}

//! Tokens: issued for a code, refreshed, revoked, introspected.
//!
//! May use: `context`, `limits`, `settings`, `store`, `units`, `access` (how secrets begin), this folder.

use super::events::{Event, EventKind};
use super::protocol::error::OAuthError;
use super::protocol::token::{TokenAnswer, TokenRequest};
use super::protocol::{pkce, scope, secret};
use super::resolver::grant_place;
use super::service::{NOT_SET_UP, OAuth, after};
use crate::access::credential::{ACCESS_TOKEN, REFRESH_TOKEN};
use crate::context::Context;
use crate::limits::Limits;
use crate::settings::OAuthSettings;
use crate::store::StoreError;
use crate::store::oauth::{Client, Code, Exchange, NewToken, Refresh, Token, TokenKind, Verdict};
use crate::units::{micros, now_micros};
use serde_json::{Value, json};
use std::time::Duration;

/// Longest wait for v1 to confirm a person's key. These requests need v1 for nothing else.
const PROOF: Duration = Duration::from_secs(2);

impl OAuth {
    /// Issues tokens for a code or a refresh token.
    pub(super) async fn token(
        &self,
        client: &Client,
        request: TokenRequest,
        limits: &Limits,
        ctx: &Context,
    ) -> Result<TokenAnswer, OAuthError> {
        if !self.is_set_up() {
            return Err(OAuthError::unavailable(NOT_SET_UP));
        }
        match request {
            TokenRequest::Code { code, redirect_uri, verifier } => {
                let client = client.clone();
                self.complete_when_disconnected(async move |oauth| {
                    oauth.exchange(&client, &code, &redirect_uri, verifier.as_deref()).await
                })
                .await
            }
            TokenRequest::Refresh { token, scope } => {
                self.refresh(client, &token, scope.as_deref(), limits, ctx).await
            }
        }
    }

    async fn exchange(
        &self,
        client: &Client,
        code: &str,
        redirect_uri: &str,
        verifier: Option<&str>,
    ) -> Result<TokenAnswer, OAuthError> {
        let judge = |found: &Code| {
            if found.client_id != client.id {
                // A client that the code was not issued to learns nothing and changes nothing.
                return Verdict::Ignore;
            }
            let proven = pkce::verified(found.challenge.as_deref(), verifier);
            // A wrong proof by the right client is a guess, and a code allows only one try.
            if found.redirect_uri == redirect_uri && proven { Verdict::Accept } else { Verdict::Burn }
        };
        let pair = Pair::new(&self.inner.settings);
        let tokens = |found: &Code| pair.rows(&found.scopes, &found.scopes);
        match self.inner.store.exchange_code(&secret::hash(code), judge, tokens).await? {
            Exchange::Done(found) => Ok(pair.answer(found.scopes)),
            Exchange::Refused => Err(OAuthError::invalid_grant()),
            Exchange::Ended(found, ended) => {
                let misused = Event::of_grant(EventKind::CodeMisused, found.grant, found.user, client);
                self.tell_misuse(ended, misused).await
            }
        }
    }

    async fn refresh(
        &self,
        client: &Client,
        token: &str,
        asked: Option<&str>,
        limits: &Limits,
        ctx: &Context,
    ) -> Result<TokenAnswer, OAuthError> {
        let hash = secret::hash(token);
        let found = self.inner.store.token(&hash).await?;
        let found = found.filter(|found| found.client_id == client.id && found.kind == TokenKind::Refresh);
        let found = found.ok_or_else(OAuthError::invalid_grant)?;
        let narrow = match scope::narrowed(asked, &found.scopes) {
            Ok(scopes) => Some(scopes.join(" ")),
            // Nothing has changed yet, so a request for too many scopes does not use up the token.
            Err(refused) if !found.ended => return Err(refused),
            // The first exchange asked for other scopes, so this is not the same request again.
            Err(_) => None,
        };
        // The refreshes of a grant have the same limit as the requests of a token. A code is exchanged once.
        let narrow = match limits.take_named(&grant_place(found.grant)).await {
            Ok(()) => narrow,
            // Otherwise the refreshes of a thief could hide that the token is used by two.
            Err(_) if found.ended => None,
            Err(wait) => {
                let text = "This grant is refreshed too often; one access token is good for many requests.";
                let error = OAuthError::new("temporarily_unavailable", text);
                return Err(OAuthError { status: 429, retry_after: Some(wait), ..error });
            }
        };
        // The store judges an ended token, because it may have to end the token's grant.
        let is_good = !found.ended && found.expires_at > now_micros();
        if is_good && !self.opens(&found, ctx).await {
            // The new tokens would not work either, so the client must ask the person again.
            return Err(OAuthError::invalid_grant());
        }
        let client = client.clone();
        self.complete_when_disconnected(async move |oauth| oauth.renew(&client, &hash, &found, narrow).await).await
    }

    /// Issues the next pair for the refresh token `found`. The access token opens the scopes `narrow`; without them,
    /// the token was exchanged before, and this can only end its grant.
    async fn renew(
        &self,
        client: &Client,
        hash: &str,
        found: &Token,
        narrow: Option<String>,
    ) -> Result<TokenAnswer, OAuthError> {
        let judge = |found: &Token| if found.client_id == client.id { Verdict::Accept } else { Verdict::Ignore };
        let pair = Pair::new(&self.inner.settings);
        let retry = if narrow.is_some() { micros(self.inner.settings.refresh_retry) } else { 0 };
        // The refresh token keeps the granted scopes (RFC 6749, 6); only the access token is narrower.
        let narrow = narrow.unwrap_or_default();
        let tokens = |found: &Token| pair.rows(&narrow, &found.scopes.join(" "));
        match self.inner.store.refresh(hash, retry, judge, tokens).await? {
            Refresh::Done { .. } => Ok(pair.answer(narrow)),
            Refresh::Refused => Err(OAuthError::invalid_grant()),
            Refresh::Reused(ended) => {
                let reused = Event::of_grant(EventKind::RefreshReused, found.grant, found.user, client);
                self.tell_misuse(ended, reused).await
            }
        }
    }

    /// Reports the misuse of a code or a refresh token, and rejects it. The event is also reported when it is undecided
    /// whether the grant has `ended`: the next caller with this credential may find the grant ended already.
    async fn tell_misuse<T>(&self, ended: Result<(), StoreError>, event: Event) -> Result<T, OAuthError> {
        if matches!(ended, Ok(()) | Err(StoreError::Undecided(_))) {
            self.tell(event).await;
        }
        ended?;
        Err(OAuthError::invalid_grant())
    }

    /// Checks whether the v1 key of a token's grant can be opened and v1 accepts it. When v1 does not answer in time,
    /// the key counts as accepted.
    async fn opens(&self, token: &Token, ctx: &Context) -> bool {
        if token.sealed.text.is_empty() {
            // Its grant has ended.
            return false;
        }
        let Ok(key) = self.inner.resolver.key_of(token).await else { return false };
        let ctx = ctx.for_shared_work(PROOF.min(ctx.remaining())).with_stale_allowed(true);
        match self.inner.access.owner_of(&key, &ctx).await {
            Ok(user) => user.id == token.user,
            Err(refusal) => refusal.status() != 401,
        }
    }

    /// Revokes a token of this client. An unknown or ended token is no error (RFC 7009, 2.2). A client that revokes an
    /// exchanged refresh token may never have received the new tokens, so the new tokens end too.
    pub(super) async fn revoke(&self, client: &Client, token: &str) -> Result<(), OAuthError> {
        let hash = secret::hash(token);
        let Some(found) = self.inner.store.token(&hash).await? else { return Ok(()) };
        if found.client_id != client.id {
            return Err(OAuthError::new("unauthorized_client", "The token was not given to this client."));
        }
        let revoked = Event::of_grant(EventKind::TokenRevoked(found.kind), found.grant, found.user, client);
        self.complete_when_disconnected(async move |oauth| {
            if oauth.inner.store.revoke_token(&hash, &found).await? {
                oauth.tell(revoked).await;
            }
            Ok(())
        })
        .await
    }

    /// Returns the known facts about a token of this client (RFC 7662, 2.2). Any other token is reported as not active.
    pub(super) async fn introspect(
        &self,
        client: &Client,
        token: &str,
        issuer: &str,
        ctx: &Context,
    ) -> Result<Value, OAuthError> {
        let found = self.inner.store.token(&secret::hash(token)).await?;
        let good = |found: &Token| found.client_id == client.id && !found.ended && found.expires_at > now_micros();
        let Some(found) = found.filter(good) else { return Ok(json!({ "active": false })) };
        if !self.opens(&found, ctx).await {
            return Ok(json!({ "active": false }));
        }
        let mut known = json!({ "active": true, "scope": found.scopes.join(" "), "client_id": found.client_id });
        if found.kind == TokenKind::Access {
            known["token_type"] = "Bearer".into();
        }
        known["exp"] = (found.expires_at / 1_000_000).into();
        known["iat"] = (found.issued_at / 1_000_000).into();
        known["sub"] = found.user.to_string().into();
        known["iss"] = issuer.into();
        Ok(known)
    }
}

/// The next pair of tokens, not yet issued.
struct Pair {
    access: String,
    refresh: String,
    access_life: Duration,
    refresh_life: Duration,
}

impl Pair {
    fn new(settings: &OAuthSettings) -> Self {
        Self {
            access: secret::new(ACCESS_TOKEN),
            refresh: secret::new(REFRESH_TOKEN),
            access_life: settings.access_token,
            refresh_life: settings.refresh_token,
        }
    }

    /// Returns the pair as rows of the store, with the scopes of each token.
    fn rows(&self, access_scopes: &str, refresh_scopes: &str) -> [NewToken; 2] {
        let row = |text: &str, kind, scopes: &str, life| NewToken {
            hash: secret::hash(text),
            kind,
            scopes: scopes.to_owned(),
            expires_at: after(life),
        };
        [
            row(&self.access, TokenKind::Access, access_scopes, self.access_life),
            row(&self.refresh, TokenKind::Refresh, refresh_scopes, self.refresh_life),
        ]
    }

    fn answer(self, scope: String) -> TokenAnswer {
        TokenAnswer {
            access_token: self.access,
            token_type: "Bearer",
            expires_in: self.access_life.as_secs(),
            refresh_token: self.refresh,
            scope,
        }
    }
}

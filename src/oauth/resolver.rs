//! Finds the v1 key that acts for a bearer token or a gateway key.
//!
//! A key that was found is used again for a few seconds. A revocation invalidates every key found before it, and every
//! lookup in flight. This holds in this process and in the processes that share its store: the store announces a
//! revocation with the write. A process that cannot receive the announcements asks the store each time.
//!
//! May use: `fresh`, `refusal`, `units`, `v1`, `access` (the interface), `store`, `keyring`, `events`, `audited`.

use super::audited::Audited;
use super::events::{Event, EventKind, RejectionReason};
use super::keyring::Keyring;
use super::protocol::secret;
use crate::access::credential::{ACCESS_TOKEN, GATEWAY_KEY};
use crate::access::{CredentialData, Credentials, Presented, PrincipalKind};
use crate::fresh::{Changed, Figures, Fresh, ReadLost};
use crate::refusal::{EndedCredential, Refusal};
use crate::store::oauth::{OAuthStore, Sealed, Token, TokenKind};
use crate::units::now_micros;
use crate::v1::V1Key;
use futures_util::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// Largest number of credentials in the cache.
const CAPACITY: u64 = 100_000;

#[derive(Clone)]
struct CachedCredential {
    acting: CredentialData,
    expires_at: i64,
}

/// Resolves the gateway's own credentials.
pub struct Resolver {
    store: OAuthStore,
    keyring: Option<Keyring>,
    events: Arc<Audited>,
    /// Time for which a found key is used again.
    delay: Duration,
    found: Fresh<String, CachedCredential, ReadLost>,
}

impl Resolver {
    pub(super) fn new(store: OAuthStore, keyring: Option<Keyring>, events: Arc<Audited>, delay: Duration) -> Self {
        let found = Fresh::new(store.changes(), CAPACITY).useless_after(delay);
        Self { store, keyring, events, delay, found }
    }

    /// Returns the figures of the credential cache: its size and its hits.
    pub(super) fn figures(&self) -> Figures {
        self.found.figures()
    }

    async fn find(&self, presented: Presented) -> Result<CredentialData, Refusal> {
        let hash = match &presented {
            Presented::Bearer(token) if token.starts_with(ACCESS_TOKEN) => secret::hash(token),
            Presented::GatewayKey(key) if key.starts_with(GATEWAY_KEY) => secret::hash(key),
            _ => return Err(Refusal::invalid_token()),
        };
        let delay = if self.store.hears_revocations() { self.delay } else { Duration::ZERO };
        // On this channel the store announces revocations.
        let changes = self.store.changes();
        let need = changes.need(&[Changed::Credentials], delay);
        if let Some(kept) = self.found.kept(&hash, &need)
            && kept.value.expires_at > now_micros()
        {
            return Ok(kept.value.acting);
        }
        let began = changes.now();
        let (acting, expires_at) = match presented {
            Presented::Bearer(_) => self.token(&hash).await?,
            _ => self.key(&hash).await?,
        };
        self.found.put(&hash, CachedCredential { acting: acting.clone(), expires_at }, began);
        Ok(acting)
    }

    async fn token(&self, hash: &str) -> Result<(CredentialData, i64), Refusal> {
        let token = self.store.token(hash).await?.filter(|token| token.kind == TokenKind::Access);
        let token = token.ok_or_else(Refusal::invalid_token)?;
        let ended = EndedCredential { id: token.grant, user: token.user, kind: "oauth_grant", workspace: None };
        self.alive(ended, token.ended, token.expires_at).await?;
        let acting = CredentialData {
            key: self.key_of(&token).await?,
            user: token.user,
            kind: PrincipalKind::OAuth,
            credential: token.grant,
            scopes: token.scopes.into(),
            workspace: None,
        };
        Ok((acting, token.expires_at))
    }

    async fn key(&self, hash: &str) -> Result<(CredentialData, i64), Refusal> {
        let key = self.store.key(hash).await?.ok_or_else(Refusal::invalid_token)?;
        let expires_at = key.expires_at.unwrap_or(i64::MAX);
        let workspace = key.workspace.clone();
        let ended = EndedCredential { id: key.id, user: key.user, kind: "gateway_key", workspace };
        self.alive(ended, key.revoked, expires_at).await?;
        let acting = CredentialData {
            key: self.unseal(&key.sealed, &key_place(key.id)).await?,
            user: key.user,
            kind: PrincipalKind::Other,
            credential: key.id,
            scopes: key.scopes.into(),
            workspace: key.workspace.map(|(id, _)| id),
        };
        Ok((acting, expires_at))
    }

    async fn alive(&self, known: EndedCredential, ended: bool, expires_at: i64) -> Result<(), Refusal> {
        if !ended && expires_at > now_micros() {
            return Ok(());
        }
        let why = if ended { RejectionReason::Revoked } else { RejectionReason::Expired };
        let (what, id, user) = (EventKind::CredentialRefused(why), known.id, known.user);
        let refused = Event { what, id, title: String::new(), user, client: None, workspace: None };
        self.events.report_event(&refused, None).await;
        Err(Refusal::ended_credential(known))
    }

    /// Returns the v1 key of the grant that `token` belongs to.
    pub(super) async fn key_of(&self, token: &Token) -> Result<V1Key, Refusal> {
        self.unseal(&token.sealed, &grant_place(token.grant)).await
    }

    async fn unseal(&self, sealed: &Sealed, place: &str) -> Result<V1Key, Refusal> {
        let opened = match &self.keyring {
            Some(keyring) => keyring.unseal(&sealed.text, &sealed.with, place).await,
            None => None,
        };
        if opened.is_none() {
            tracing::error!(secret = %sealed.with, "a kept v1 key cannot be opened: its secret is not configured");
        }
        opened.map(|key| V1Key::new(&key)).ok_or_else(Refusal::invalid_token)
    }
}

impl Credentials for Resolver {
    fn resolve(&self, presented: Presented) -> BoxFuture<'_, Result<CredentialData, Refusal>> {
        Box::pin(self.find(presented))
    }
}

/// Returns the place that the v1 key of a grant is bound to.
pub(super) fn grant_place(grant: Uuid) -> String {
    format!("grant {grant}")
}

/// Returns the place that the v1 key behind a gateway key is bound to.
pub(super) fn key_place(key: Uuid) -> String {
    format!("key {key}")
}

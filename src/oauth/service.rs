//! The authorization server: decides who may do what, in terms of the protocol, the store and v1.
//!
//! One file per concern: this one has the server itself and consent, `tokens` has tokens, `admin` has clients, keys
//! and secrets.
//!
//! May use: `context`, `fresh`, `plan`, `trace`, `v1`, this folder, `access`, `settings`, `store`, `units`.

use super::attempts::Attempts;
use super::audited::Audited;
use super::events::{Event, EventKind};
use super::keyring::Keyring;
use super::protocol::authorize::Authorization;
use super::protocol::client_auth::ClientClaim;
use super::protocol::error::OAuthError;
use super::protocol::secret;
use super::resolver::{Resolver, grant_place};
use crate::access::credential::CODE;
use crate::access::{Access, Credentials, Origin};
use crate::fresh::Figures;
use crate::plan::scopes;
use crate::settings::OAuthSettings;
use crate::store::oauth::{Client, NewCode, NewGrant, OAuthStore, Sealed};
use crate::store::{Store, StoreError};
use crate::trace::carried;
use crate::units::{micros, now_micros};
use crate::v1::V1Key;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::task::JoinError;
use uuid::Uuid;

/// Largest number of writes that run at once, whether their clients still wait or not. Further writes wait for one of
/// them to end, and are dropped when their clients leave.
const AT_ONCE: u32 = 64;

/// Reason why tokens cannot be issued: no secret is configured to seal keys with.
pub const NOT_SET_UP: &str = "OAuth is not set up on this gateway: it has no secret to keep keys under. \
                              The operator makes one with causeway secrets new and names it in the setting \
                              secrets.key_file.";

/// The authorization server; cheap to clone.
#[derive(Clone)]
pub struct OAuth {
    pub(super) inner: Arc<Inner>,
    /// Origin of the request that it acts for; `None` at the command line.
    origin: Option<Arc<Origin>>,
}

pub(super) struct Inner {
    pub(super) store: OAuthStore,
    pub(super) access: Access,
    pub(super) keyring: Option<Keyring>,
    pub(super) settings: OAuthSettings,
    pub(super) attempts: Attempts,
    /// Apart from `attempts`: apps that register must not keep people behind their address from consent.
    pub(super) registrations: Attempts,
    pub(super) resolver: Arc<Resolver>,
    events: Arc<Audited>,
    writing: Arc<Semaphore>,
}

impl OAuth {
    /// Creates the server. The returned [`Access`] accepts the gateway's own credentials.
    pub fn new(
        store: &Store,
        access: Access,
        keyring: Option<Keyring>,
        settings: OAuthSettings,
        events: Audited,
    ) -> (Self, Access) {
        let events = Arc::new(events);
        let store = store.oauth();
        let delay = settings.revocation_delay;
        let resolver = Arc::new(Resolver::new(store.clone(), keyring.clone(), Arc::clone(&events), delay));
        let knowing = access.clone().with_credentials(Arc::clone(&resolver) as Arc<dyn Credentials>);
        let (attempts, registrations) = (Attempts::new(settings.attempts), Attempts::new(settings.attempts));
        let writing = Arc::new(Semaphore::new(AT_ONCE as usize));
        let inner = Inner { store, access, keyring, settings, attempts, registrations, resolver, events, writing };
        (Self { inner: Arc::new(inner), origin: None }, knowing)
    }

    /// Returns the same server, acting for a request: events are reported with the request's `origin`.
    #[must_use]
    pub fn with_origin(&self, origin: Origin) -> Self {
        Self { origin: Some(Arc::new(origin)), ..self.clone() }
    }

    pub(super) async fn tell(&self, event: Event) {
        self.inner.events.report_event(&event, self.origin.as_deref()).await;
    }

    /// Completes a write and the report of its event, also when the client disconnects meanwhile. Otherwise a thief
    /// could disconnect between the commit and the report, and nobody would learn of the write.
    pub(super) async fn complete_when_disconnected<T, F>(&self, work: impl FnOnce(Self) -> F) -> T
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        // The semaphore is never closed.
        let place = Arc::clone(&self.inner.writing).acquire_owned().await.ok();
        let work = work(self.clone());
        let going_on = tokio::spawn(carried(async move {
            let _place = place;
            work.await
        }));
        match going_on.await.map_err(JoinError::try_into_panic) {
            Ok(done) => done,
            Err(Ok(panic)) => resume_unwind(panic),
            // The gateway process ends.
            Err(Err(_)) => std::future::pending().await,
        }
    }

    /// Waits until all writes under way have ended, but not beyond `patience`. No write may begin any more.
    pub async fn writes_have_ended(&self, patience: Instant) {
        let all = self.inner.writing.acquire_many(AT_ONCE);
        if tokio::time::timeout_at(patience.into(), all).await.is_err() {
            tracing::warn!("drain time over, leaving writes of the authorization server in the middle");
        }
    }

    /// Checks whether tokens and keys can be issued at all.
    pub fn is_set_up(&self) -> bool {
        self.inner.keyring.is_some()
    }

    /// Returns the figures of the credential cache: its size and its hits.
    pub fn figures(&self) -> Figures {
        self.inner.resolver.figures()
    }

    /// Returns the client that a request claims to be.
    ///
    /// # Errors
    /// `invalid_client` unless the claim is proven: by the client's secret, or, for a public client, by having none.
    pub(super) async fn authenticate(&self, claim: &ClientClaim) -> Result<Client, OAuthError> {
        let client = self.client(&claim.id).await?.ok_or_else(OAuthError::invalid_client)?;
        match (&client.secret_hash, &claim.secret) {
            (Some(hash), Some(given)) if secret::is(given, hash) => Ok(client),
            (None, None) => Ok(client),
            _ => Err(OAuthError::invalid_client()),
        }
    }

    /// Checks whether `client` may be granted `scope`.
    pub(super) fn may_ask(client: &Client, scope: &str) -> bool {
        scopes::all().any(|known| known == scope)
            && (client.scopes.is_empty() || client.scopes.iter().any(|own| own == scope))
    }

    /// Records that the owner of `key` allowed `client`, and returns the code for it.
    pub(super) async fn grant(
        &self,
        client: &Client,
        asked: &Authorization,
        redirect_uri: &str,
        user: Uuid,
        key: &V1Key,
    ) -> Result<String, OAuthError> {
        let keyring = self.inner.keyring.as_ref().ok_or_else(|| OAuthError::unavailable(NOT_SET_UP))?;
        let (id, code) = (Uuid::new_v4(), secret::new(CODE));
        let (text, with) = keyring.seal(key.expose(), &grant_place(id));
        let grant = NewGrant {
            id,
            client_id: client.id.clone(),
            user,
            scopes: asked.scopes.clone(),
            sealed: Sealed { text, with },
        };
        let new_code = NewCode {
            hash: secret::hash(&code),
            redirect_uri: redirect_uri.to_owned(),
            challenge: asked.challenge.clone(),
            expires_at: after(self.inner.settings.code),
        };
        let granted = Event::of_grant(EventKind::Granted, id, user, client);
        self.complete_when_disconnected(async move |oauth| {
            oauth.inner.store.add_grant(&grant, &new_code).await?;
            oauth.tell(granted).await;
            Ok(code)
        })
        .await
    }

    /// Returns the client with this id.
    pub(super) async fn client(&self, id: &str) -> Result<Option<Client>, OAuthError> {
        Ok(self.inner.store.client(id).await?)
    }
}

/// Returns the end of a life that begins now, in microseconds since 1970.
pub(super) fn after(life: Duration) -> i64 {
    now_micros().saturating_add(micros(life))
}

/// Maps an error of the store to an error of the protocol; the cause goes to the log.
impl From<StoreError> for OAuthError {
    fn from(fault: StoreError) -> Self {
        tracing::error!(cause = %fault, "the store failed the authorization server");
        Self::unavailable("The store of the gateway cannot be used; try again.")
    }
}

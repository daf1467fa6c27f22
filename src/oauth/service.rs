//! The authorization server: decides who may do what, in terms of the protocol, the store and v1.
//!
//! One impl block a concern: this file has consent and tokens, `admin` has clients, keys and secrets.
//!
//! May use: `context`, `fresh`, `plan`, `trace`, `v1`, this folder, `access`, `settings`, `store`, `units`.

use super::attempts::Attempts;
use super::audited::Audited;
use super::events::{Event, What};
use super::keyring::Keyring;
use super::protocol::authorize::Authorization;
use super::protocol::client_auth::ClientClaim;
use super::protocol::error::OAuthError;
use super::protocol::token::{TokenAnswer, TokenRequest};
use super::protocol::{pkce, scope, secret};
use super::resolver::{Resolver, grant_place};
use crate::access::credential::{ACCESS_TOKEN, CODE, REFRESH_TOKEN};
use crate::access::{Access, Credentials, Origin};
use crate::context::Context;
use crate::fresh::Figures;
use crate::plan::scopes;
use crate::settings::OAuthSettings;
use crate::store::oauth::{
    Client, Code, Exchange, NewCode, NewGrant, NewToken, OAuthStore, Refresh, Sealed, Token, TokenKind, Verdict,
};
use crate::store::{Store, StoreError};
use crate::trace::carried;
use crate::units::{micros, now_micros};
use crate::v1::V1Key;
use serde_json::{Value, json};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::JoinError;
use uuid::Uuid;

/// Longest wait for v1's word on a person's key; what is asked for needs v1 for nothing else.
const PROOF: Duration = Duration::from_secs(2);

/// Writes that go on at once, whether their clients wait or not. More wait for one of these to end, and are given up with
/// their clients.
const AT_ONCE: usize = 64;

/// What stands in the way of giving tokens: no secret to keep keys under.
pub const NOT_SET_UP: &str = "OAuth is not set up on this gateway: it has no secret to keep keys under. \
                              The operator makes one with causeway secrets new and names it in the setting \
                              secrets.key_file.";

/// The authorization server; cheap to clone.
#[derive(Clone)]
pub struct OAuth {
    pub(super) inner: Arc<Inner>,
    /// The request it acts for; none at the command line.
    origin: Option<Arc<Origin>>,
}

pub(super) struct Inner {
    pub(super) store: OAuthStore,
    pub(super) access: Access,
    pub(super) keyring: Option<Keyring>,
    pub(super) settings: OAuthSettings,
    pub(super) attempts: Attempts,
    pub(super) resolver: Arc<Resolver>,
    events: Arc<Audited>,
    writing: Arc<Semaphore>,
}

impl OAuth {
    /// Puts the parts together. The [`Access`] it gives back knows the gateway's own credentials.
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
        let attempts = Attempts::new(settings.attempts);
        let writing = Arc::new(Semaphore::new(AT_ONCE));
        let inner = Inner { store, access, keyring, settings, attempts, resolver, events, writing };
        (Self { inner: Arc::new(inner), origin: None }, knowing)
    }

    /// The same server, acting for a request: events are told with where they came from.
    #[must_use]
    pub fn asked_from(&self, origin: Origin) -> Self {
        Self { origin: Some(Arc::new(origin)), ..self.clone() }
    }

    pub(super) async fn tell(&self, event: Event) {
        self.inner.events.happened(&event, self.origin.as_deref()).await;
    }

    /// Carries out a write and what is to be told of it, also when the client leaves meanwhile: between the commit and the
    /// word about it a thief need not wait.
    pub(super) async fn to_the_end<T, F>(&self, work: impl FnOnce(Self) -> F) -> T
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        // Nobody closes it.
        let place = Arc::clone(&self.inner.writing).acquire_owned().await.ok();
        let work = work(self.clone());
        let going_on = tokio::spawn(carried(async move {
            let _place = place;
            work.await
        }));
        match going_on.await.map_err(JoinError::try_into_panic) {
            Ok(done) => done,
            Err(Ok(panic)) => resume_unwind(panic),
            // The gateway ends.
            Err(Err(_)) => std::future::pending().await,
        }
    }

    /// Whether tokens and keys can be given at all.
    pub fn is_set_up(&self) -> bool {
        self.inner.keyring.is_some()
    }

    /// What is kept of credentials, and how often it was of use.
    pub fn figures(&self) -> Figures {
        self.inner.resolver.figures()
    }

    /// The client that a request claims to be.
    ///
    /// # Errors
    /// `invalid_client` unless it proves it: by its secret, or, for a public client, by having none.
    pub(super) async fn authenticate(&self, claim: &ClientClaim) -> Result<Client, OAuthError> {
        let client = self.client(&claim.id).await?.ok_or_else(OAuthError::invalid_client)?;
        match (&client.secret_hash, &claim.secret) {
            (Some(hash), Some(given)) if secret::is(given, hash) => Ok(client),
            (None, None) => Ok(client),
            _ => Err(OAuthError::invalid_client()),
        }
    }

    /// Whether `client` may be granted `scope`.
    pub(super) fn may_ask(client: &Client, scope: &str) -> bool {
        scopes::all().any(|known| known == scope)
            && (client.scopes.is_empty() || client.scopes.iter().any(|own| own == scope))
    }

    /// Records that the owner of `key` allowed `client`, and gives the code for it.
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
        let granted = Event::of_grant(What::Granted, id, user, client);
        self.to_the_end(async move |oauth| {
            oauth.inner.store.add_grant(&grant, &new_code).await?;
            oauth.tell(granted).await;
            Ok(code)
        })
        .await
    }

    /// Tokens for a code or refresh token.
    pub(super) async fn token(
        &self,
        client: &Client,
        request: TokenRequest,
        ctx: &Context,
    ) -> Result<TokenAnswer, OAuthError> {
        if !self.is_set_up() {
            return Err(OAuthError::unavailable(NOT_SET_UP));
        }
        match request {
            TokenRequest::Code { code, redirect_uri, verifier } => {
                let client = client.clone();
                self.to_the_end(async move |oauth| {
                    oauth.exchange(&client, &code, &redirect_uri, verifier.as_deref()).await
                })
                .await
            }
            TokenRequest::Refresh { token, scope } => self.refresh(client, &token, scope.as_deref(), ctx).await,
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
                // Somebody else's client is told nothing and changes nothing.
                return Verdict::Ignore;
            }
            let proven = pkce::verified(found.challenge.as_deref(), verifier);
            // A wrong proof by the right client is somebody trying: one chance only.
            if found.redirect_uri == redirect_uri && proven { Verdict::Accept } else { Verdict::Burn }
        };
        let pair = Pair::new(&self.inner.settings);
        let tokens = |found: &Code| pair.rows(&found.scopes, &found.scopes);
        match self.inner.store.exchange_code(&secret::hash(code), judge, tokens).await? {
            Exchange::Done(found) => Ok(pair.answer(found.scopes)),
            Exchange::Refused => Err(OAuthError::invalid_grant()),
            Exchange::Ended(found, ended) => {
                let misused = Event::of_grant(What::CodeMisused, found.grant, found.user, client);
                self.tell_misuse(ended, misused).await
            }
        }
    }

    async fn refresh(
        &self,
        client: &Client,
        token: &str,
        asked: Option<&str>,
        ctx: &Context,
    ) -> Result<TokenAnswer, OAuthError> {
        let hash = secret::hash(token);
        let found = self.inner.store.token(&hash).await?;
        let found = found.filter(|found| found.client_id == client.id && found.kind == TokenKind::Refresh);
        let found = found.ok_or_else(OAuthError::invalid_grant)?;
        // Judged before anything changes, so that a wish too large costs nothing.
        let narrow = scope::narrowed(asked, &found.scopes)?.join(" ");
        // One that has ended is judged by the store, which may have to end its grant.
        let is_good = !found.ended && found.expires_at > now_micros();
        if is_good && !self.opens(&found, ctx).await {
            // Its successors would be dead as well; so the client asks the person again.
            return Err(OAuthError::invalid_grant());
        }
        let client = client.clone();
        self.to_the_end(async move |oauth| oauth.renew(&client, &hash, &found, narrow).await).await
    }

    /// The next pair for the refresh token `found`, whose access token opens `narrow`.
    async fn renew(
        &self,
        client: &Client,
        hash: &str,
        found: &Token,
        narrow: String,
    ) -> Result<TokenAnswer, OAuthError> {
        let judge = |found: &Token| if found.client_id == client.id { Verdict::Accept } else { Verdict::Ignore };
        let pair = Pair::new(&self.inner.settings);
        // The refresh token keeps what was granted (RFC 6749, 6); only the access token is narrower.
        let tokens = |found: &Token| pair.rows(&narrow, &found.scopes.join(" "));
        let retry = micros(self.inner.settings.refresh_retry);
        match self.inner.store.refresh(hash, retry, judge, tokens).await? {
            Refresh::Done { .. } => Ok(pair.answer(narrow)),
            Refresh::Refused => Err(OAuthError::invalid_grant()),
            Refresh::Reused(ended) => {
                let reused = Event::of_grant(What::RefreshReused, found.grant, found.user, client);
                self.tell_misuse(ended, reused).await
            }
        }
    }

    /// Tells of something that was presented again, and refuses it. Where the end of its grant is `ended` only perhaps,
    /// it is told all the same: the next one who presents it may find the grant ended.
    async fn tell_misuse<T>(&self, ended: Result<(), StoreError>, event: Event) -> Result<T, OAuthError> {
        if matches!(ended, Ok(()) | Err(StoreError::Undecided(_))) {
            self.tell(event).await;
        }
        ended?;
        Err(OAuthError::invalid_grant())
    }

    /// Whether the v1 key of a token's grant can be opened and v1 takes it. A v1 that does not say so in time counts as
    /// one that does.
    async fn opens(&self, token: &Token, ctx: &Context) -> bool {
        if token.sealed.text.is_empty() {
            // Its grant has ended.
            return false;
        }
        let Ok(key) = self.inner.resolver.key_of(token).await else { return false };
        let ctx = ctx.for_shared_work(PROOF.min(ctx.remaining())).tolerating(true);
        match self.inner.access.owner_of(&key, &ctx).await {
            Ok(user) => user.id == token.user,
            Err(refusal) => refusal.status() != 401,
        }
    }

    /// Ends a token of this client; unknown and ended ones are no error (RFC 7009, 2.2). A client that gives back a
    /// refresh token that was exchanged may never have got its successors, so they end with it.
    pub(super) async fn revoke(&self, client: &Client, token: &str) -> Result<(), OAuthError> {
        let hash = secret::hash(token);
        let Some(found) = self.inner.store.token(&hash).await? else { return Ok(()) };
        if found.client_id != client.id {
            return Err(OAuthError::new("unauthorized_client", "The token was not given to this client."));
        }
        let revoked = Event::of_grant(What::TokenRevoked, found.grant, found.user, client);
        self.to_the_end(async move |oauth| {
            if oauth.inner.store.revoke_token(&hash, &found).await? {
                oauth.tell(revoked).await;
            }
            Ok(())
        })
        .await
    }

    /// What is known of a token of this client (RFC 7662, 2.2); of any other, that it is not active.
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

    /// The client with this id.
    pub(super) async fn client(&self, id: &str) -> Result<Option<Client>, OAuthError> {
        Ok(self.inner.store.client(id).await?)
    }
}

/// The next pair of tokens, not yet anybody's.
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

    /// The pair as the store keeps it, with what each of the two opens.
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

fn after(life: Duration) -> i64 {
    now_micros().saturating_add(micros(life))
}

/// A fault of the store in the words of the protocol; its cause goes to the log.
impl From<StoreError> for OAuthError {
    fn from(fault: StoreError) -> Self {
        tracing::error!(cause = %fault, "the store failed the authorization server");
        Self::unavailable("The store of the gateway cannot be used; try again.")
    }
}

//! Administration of clients, gateway keys and secrets, by operators and by the owners of keys.
//!
//! May use: `context`, `plan`, `refusal`, `units`, `v1`, this folder, `access`, `store`.

use super::events::{Event, EventKind};
use super::keyring::Keyring;
use super::protocol::registration::Registrable;
use super::protocol::{authorize, scope, secret};
use super::resolver::{grant_place, key_place};
use super::service::{NOT_SET_UP, OAuth};
use crate::access::Caller;
use crate::access::credential::{CLIENT_SECRET, GATEWAY_KEY, LONGEST_KEY, is_own};
use crate::context::Context;
use crate::plan::scopes;
use crate::refusal::Refusal;
use crate::store::StoreError;
use crate::store::oauth::{Client, GatewayKey, Grant, OAuthStore, Sealed, SealedRow};
use crate::units::now_micros;
use crate::v1::V1Key;
use uuid::Uuid;

/// Number of rows that one batch seals anew.
const BATCH: i64 = 500;

/// Reason why an administrative action failed.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// No secret is configured to seal keys with.
    #[error("{NOT_SET_UP}")]
    NotSetUp,
    /// The request is invalid.
    #[error("{0}")]
    Unfit(String),
    /// v1 rejects the key, or v1 cannot be reached.
    #[error("the v1 key cannot be used: {0}")]
    Key(&'static str),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Description of a new gateway key.
#[derive(Debug, Clone, Default)]
pub struct Minting {
    /// Purpose of the key.
    pub title: String,
    /// Scopes of the key, separated by blanks or commas.
    pub scopes: String,
    /// Slug of the only workspace that the key opens.
    pub workspace: Option<String>,
    /// Expiry time, in microseconds since 1970.
    pub expires_at: Option<i64>,
}

/// Result of a rotation of secrets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rotation {
    /// Number of keys that are now sealed with the current secret.
    pub sealed_anew: usize,
    /// Number of keys whose secret is no longer configured.
    pub lost: usize,
}

impl OAuth {
    /// Registers a client. Its secret is returned only here.
    pub async fn register(
        &self,
        client: Registrable,
        self_registered: bool,
    ) -> Result<(Client, Option<String>), StoreError> {
        let secret = (!client.public).then(|| secret::new(CLIENT_SECRET));
        let row = Client {
            id: Uuid::new_v4().simple().to_string(),
            name: client.name,
            secret_hash: secret.as_deref().map(secret::hash),
            redirect_uris: client.redirect_uris,
            scopes: client.scopes,
            self_registered,
            created_at: now_micros(),
        };
        self.inner.store.add_client(&row).await?;
        Ok((row, secret))
    }

    /// Returns all clients.
    pub async fn clients(&self) -> Result<Vec<Client>, StoreError> {
        self.inner.store.clients().await
    }

    /// Returns the first public client that an operator has registered with this redirect address.
    pub async fn public_client_at(&self, redirect_uri: &str) -> Result<Option<Client>, StoreError> {
        let mut clients = self.inner.store.public_clients().await?.into_iter();
        Ok(clients.find(|client| authorize::is_registered(&client.redirect_uris, redirect_uri)))
    }

    /// Creates another secret for a confidential client. Returns `None` when there is no such client.
    pub async fn rotate_client(&self, id: &str) -> Result<Option<String>, StoreError> {
        let secret = secret::new(CLIENT_SECRET);
        let done = self.inner.store.set_client_secret(id, &secret::hash(&secret)).await?;
        Ok(done.then_some(secret))
    }

    /// Deletes a client with all its grants. Returns false when there is no such client.
    pub async fn delete_client(&self, id: &str) -> Result<bool, StoreError> {
        self.inner.store.delete_client(id).await
    }

    /// Creates a gateway key for a v1 key, which v1 must accept. The gateway key is returned only here, and is valid
    /// only when [`OAuth::keep_key`] has stored it.
    pub async fn prepare_key(
        &self,
        v1_key: &str,
        wanted: Minting,
        ctx: &Context,
    ) -> Result<(GatewayKey, String), AdminError> {
        let keyring = self.inner.keyring.as_ref().ok_or(AdminError::NotSetUp)?;
        let known = |scope: &str| scopes::all().any(|name| name == scope);
        let scopes = scope::parse(&wanted.scopes.replace(',', " "), known)
            .map_err(|error| AdminError::Unfit(error.description))?;
        let key = usable(v1_key).ok_or(AdminError::Key("it is no v1 key"))?;
        let user =
            self.inner.access.owner_of(&key, ctx).await.map_err(|refusal| AdminError::Key(blame(&refusal)))?;
        let caller = Caller::of_v1_key(key.clone(), user.clone());
        let workspace = match wanted.workspace {
            None => None,
            Some(slug) => Some((self.workspace_to_open(&caller, &slug, ctx).await?, slug)),
        };
        let (id, secret) = (Uuid::new_v4(), secret::new(GATEWAY_KEY));
        let (text, with) = keyring.seal(key.expose(), &key_place(id));
        let row = GatewayKey {
            id,
            hash: secret::hash(&secret),
            title: wanted.title,
            user: user.id,
            user_name: user.display_name.clone(),
            scopes,
            workspace,
            sealed: Sealed { text, with },
            expires_at: wanted.expires_at,
            revoked: false,
        };
        Ok((row, secret))
    }

    /// Stores a gateway key that was prepared.
    pub async fn keep_key(&self, key: &GatewayKey) -> Result<(), StoreError> {
        self.inner.store.add_key(key).await?;
        self.tell(Event::of_key(EventKind::KeyMinted, key)).await;
        Ok(())
    }

    /// Returns the id of the workspace that a new key of `caller` is to open.
    async fn workspace_to_open(&self, caller: &Caller, slug: &str, ctx: &Context) -> Result<Uuid, AdminError> {
        let access = &self.inner.access;
        let seen = access.workspace(caller, slug, ctx).await;
        seen.map_err(|_| AdminError::Unfit(format!("its owner sees no workspace {slug}")))?;
        let id = access.workspace_id_to_write(caller, slug, ctx).await;
        let id = id.map_err(|refusal| AdminError::Key(blame(&refusal)))?;
        if access.is_stand_in(slug, id) {
            return Err(AdminError::Unfit(format!(
                "its owner sees no project of {slug}, and only projects show which workspace {slug} is; mint the key \
                 when its owner is in a project"
            )));
        }
        Ok(id)
    }

    /// Returns the valid gateway keys of a person, or of all people.
    pub async fn keys(&self, user: Option<Uuid>) -> Result<Vec<GatewayKey>, StoreError> {
        let (mut keys, at) = (self.inner.store.keys(user).await?, now_micros());
        keys.retain(|key| key.expires_at.is_none_or(|end| end > at));
        Ok(keys)
    }

    /// Revokes a gateway key; only a key of `user` when `user` is given. Returns false when there is no such key.
    pub async fn revoke_key(&self, key: Uuid, user: Option<Uuid>) -> Result<bool, StoreError> {
        let known = self.inner.store.key_to_revoke(key, user).await?;
        self.complete_when_disconnected(async move |oauth| {
            let done = oauth.inner.store.revoke_key(key, user).await?;
            if let (true, Some(row)) = (done, known) {
                oauth.tell(Event::of_key(EventKind::KeyRevoked, &row)).await;
            }
            Ok(done)
        })
        .await
    }

    /// Returns the active grants of a person.
    pub async fn grants(&self, user: Uuid) -> Result<Vec<Grant>, StoreError> {
        self.inner.store.grants_of(user).await
    }

    /// Ends a grant of a person. Returns false when there is no such grant.
    pub async fn revoke_grant(&self, user: Uuid, grant: Uuid) -> Result<bool, StoreError> {
        let known = self.inner.store.client_name_of(user, grant).await?;
        self.complete_when_disconnected(async move |oauth| {
            let done = oauth.inner.store.revoke_grant_of(user, grant).await?;
            if let (true, Some(title)) = (done, known) {
                let what = EventKind::GrantRevoked;
                oauth.tell(Event { what, id: grant, title, user, client: None, workspace: None }).await;
            }
            Ok(done)
        })
        .await
    }

    /// Seals every stored v1 key with the current secret.
    pub async fn rotate_secrets(&self) -> Result<Rotation, AdminError> {
        let keyring = self.inner.keyring.as_ref().ok_or(AdminError::NotSetUp)?;
        let mut rotation = Rotation::default();
        let mut after = String::new();
        loop {
            let rows = self.inner.store.not_sealed_with(&keyring.current(), &after, BATCH).await?;
            let Some(last) = rows.last() else { return Ok(rotation) };
            after.clone_from(&last.id);
            for row in &rows {
                let place = place_of(row).ok_or_else(|| AdminError::Unfit(format!("the id {}", row.id)))?;
                let Some(plain) = keyring.unseal(&row.sealed.text, &row.sealed.with, &place).await else {
                    rotation.lost += 1;
                    continue;
                };
                let (text, with) = keyring.seal(&plain, &place);
                if self.inner.store.reseal(row, &Sealed { text, with }).await? {
                    rotation.sealed_anew += 1;
                }
            }
        }
    }
}

/// Counts the stored v1 keys that no configured secret opens. The gateway keys and tokens for such a v1 key get 401.
pub async fn unopened_keys(store: &OAuthStore, keyring: Option<&Keyring>) -> Result<u64, StoreError> {
    let (mut after, mut unopened) = (String::new(), 0);
    loop {
        let rows = store.not_sealed_with("", &after, BATCH).await?;
        let Some(last) = rows.last() else { return Ok(unopened) };
        after.clone_from(&last.id);
        for row in &rows {
            let opened = match (keyring, place_of(row)) {
                (Some(keyring), Some(place)) => keyring.unseal(&row.sealed.text, &row.sealed.with, &place).await,
                _ => None,
            };
            unopened += u64::from(opened.is_none());
        }
    }
}

/// Returns the place that the sealed key of a row is bound to; `None` when the row's id is no UUID.
fn place_of(row: &SealedRow) -> Option<String> {
    let id = Uuid::try_parse(&row.id).ok()?;
    Some(if row.of_gateway_key { key_place(id) } else { grant_place(id) })
}

/// Reads a typed text as a key that v1 can be asked about. The gateway's own secrets are never sent to v1.
pub(super) fn usable(text: &str) -> Option<V1Key> {
    let text = text.trim();
    let sane = !text.is_empty() && text.len() <= LONGEST_KEY && text.bytes().all(|byte| byte.is_ascii_graphic());
    (sane && !is_own(text)).then(|| V1Key::new(text))
}

fn blame(refusal: &Refusal) -> &'static str {
    match refusal.status() {
        401 => "v1 does not accept it",
        429 => "v1 allows it no more calls at the moment; try again in a minute",
        _ => "v1 could not be asked; see that it runs, and try again",
    }
}

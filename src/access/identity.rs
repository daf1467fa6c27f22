//! Identity of a credential: the person behind a key of v1, a token or a gateway key.
//!
//! May use: `context`, `fresh`, `refusal`, `v1`, this folder.

use super::credential::{Presented, presented};
use super::service::{Access, OWNER_LASTS};
use super::shared_proofs::Sharing;
use super::{Caller, User, owner};
use crate::context::Context;
use crate::fresh::Changed;
use crate::refusal::Refusal;
use crate::v1::{KeyId, V1Key};
use http::HeaderMap;
use std::sync::Arc;

/// Greatest age of v1's answer about the owner of a key and their name.
#[derive(Debug, Clone, Copy)]
pub enum OwnerAge {
    /// At most `identity_ttl`.
    Recent,
    /// Five times as old, for a read that is not about the person. Nothing may be shown before v1 has accepted the key
    /// for a card, which [`Access::project`] and [`Access::workspace`] prove.
    Relaxed,
}

impl Access {
    /// Returns the caller of a request by the credential in its headers. `id` is its [`presented_id`], if known.
    ///
    /// [`presented_id`]: super::presented_id
    ///
    /// # Errors
    /// [`Refusal::Unauthorized`] when there is no credential or v1 rejects it; [`Refusal::InvalidToken`] when a token
    /// or key of the gateway is not valid, or v1 no longer accepts its v1 key; errors of v1 unchanged.
    pub async fn identify(
        &self,
        headers: &HeaderMap,
        id: Option<[u8; 32]>,
        named: OwnerAge,
        ctx: &Context,
    ) -> Result<Caller, Refusal> {
        match presented(headers, id)? {
            Presented::V1Key(key) => {
                let user = self.owner_within(&key, named, ctx).await?;
                Ok(Caller::of_v1_key(key, user))
            }
            own => self.identify_own(own, named, ctx).await,
        }
    }

    async fn identify_own(&self, presented: Presented, named: OwnerAge, ctx: &Context) -> Result<Caller, Refusal> {
        let Some(credentials) = &self.credentials else { return Err(Refusal::invalid_token()) };
        let acting = credentials.resolve(presented).await?;
        let user = self.owner_within(&acting.key, named, ctx).await.map_err(|refusal| match refusal {
            Refusal::Unauthorized { .. } => Refusal::invalid_token(),
            fault => fault,
        })?;
        if user.id != acting.user {
            return Err(Refusal::invalid_token());
        }
        let (kind, workspace) = (acting.kind, acting.workspace);
        let credential = Some(acting.credential);
        Ok(Caller { user, key: acting.key, kind, scopes: Some(acting.scopes), credential, workspace })
    }

    /// Returns the owner of a v1 key, at most `identity_ttl` old.
    pub async fn owner_of(&self, key: &V1Key, ctx: &Context) -> Result<Arc<User>, Refusal> {
        self.owner_within(key, OwnerAge::Recent, ctx).await
    }

    async fn owner_within(&self, key: &V1Key, named: OwnerAge, ctx: &Context) -> Result<Arc<User>, Refusal> {
        let (inner, voids) = (&self.inner, [Changed::Identity(key.id().0)]);
        let max_age = match named {
            OwnerAge::Recent => inner.identity_ttl,
            OwnerAge::Relaxed => inner.identity_ttl * OWNER_LASTS,
        };
        let ask = |ctx| owner::owner(inner.client.clone(), key.clone(), ctx);
        let share = || {
            Some(Sharing {
                proofs: Arc::clone(self.proofs.as_ref()?),
                key: key.id(),
                of: "identity".to_owned(),
                write: |user: &Arc<User>| serde_json::to_string(&**user).ok(),
                read: Box::new(|proof, _| serde_json::from_str(proof).ok().map(Arc::new)),
                ends_all: true,
            })
        };
        let answer = inner.identities.get((key.id(), ()), &voids, max_age, ctx, share, ask).await;
        self.correct_quota_timeout(key.id(), ctx, answer)?.value
    }

    /// Invalidates the owner of a key and all its cards: a later v1 call has shown that the key is no longer valid.
    pub fn forget_identity(&self, key: KeyId) {
        self.changes().tell(Changed::Identity(key.0));
        if let Some(proofs) = &self.proofs {
            proofs.refused(key, None);
        }
    }
}

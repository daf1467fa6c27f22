//! Whose a credential is: the person behind a key of v1, a token or a gateway key.
//!
//! May use: `context`, `fresh`, `refusal`, `v1`, this folder.

use super::credential::{Presented, presented};
use super::service::{Access, OWNER_LASTS};
use super::shared_proofs::Sharing;
use super::{Caller, PrincipalKind, User, owner};
use crate::context::Context;
use crate::fresh::Changed;
use crate::refusal::Refusal;
use crate::v1::{KeyId, V1Key};
use http::HeaderMap;
use std::sync::Arc;

/// How long ago v1 may have said whose a key is, and what they are called.
#[derive(Debug, Clone, Copy)]
pub enum Named {
    /// Within `identity_ttl`.
    Lately,
    /// Five times as long ago, for a read that is not about the person. Nothing may be shown before v1 has taken the
    /// key for a card, as [`Access::project`] and [`Access::workspace`] find out.
    AWhileAgo,
}

impl Access {
    /// The person behind the credential in the headers of a request; `id` is its [`presented_id`], where that is known.
    ///
    /// [`presented_id`]: super::presented_id
    ///
    /// # Errors
    /// [`Refusal::Unauthorized`] when there is no credential or v1 does not take it;
    /// [`Refusal::InvalidToken`] for tokens and keys of the gateway that are not good, or whose v1 key v1 no
    /// longer takes; faults of v1 as they are.
    pub async fn identify(
        &self,
        headers: &HeaderMap,
        id: Option<[u8; 32]>,
        named: Named,
        ctx: &Context,
    ) -> Result<Caller, Refusal> {
        match presented(headers, id)? {
            Presented::V1Key(key) => {
                let user = self.owner_within(&key, named, ctx).await?;
                Ok(Caller {
                    user,
                    key,
                    kind: PrincipalKind::ApiKey,
                    scopes: None,
                    credential: None,
                    workspace: None,
                })
            }
            own => self.identify_own(own, named, ctx).await,
        }
    }

    async fn identify_own(&self, presented: Presented, named: Named, ctx: &Context) -> Result<Caller, Refusal> {
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

    /// The person a v1 key belongs to, as v1 said not long ago.
    pub async fn owner_of(&self, key: &V1Key, ctx: &Context) -> Result<Arc<User>, Refusal> {
        self.owner_within(key, Named::Lately, ctx).await
    }

    async fn owner_within(&self, key: &V1Key, named: Named, ctx: &Context) -> Result<Arc<User>, Refusal> {
        let (inner, voids) = (&self.inner, [Changed::Identity(key.id().0)]);
        let max_age = match named {
            Named::Lately => inner.identity_ttl,
            Named::AWhileAgo => inner.identity_ttl * OWNER_LASTS,
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
        self.late_for_the_quota(key.id(), ctx, answer)?.value
    }

    /// Forgets who is behind a key and all its cards: a later v1 call said that it is no longer valid.
    pub fn forget_identity(&self, key: KeyId) {
        self.changes().tell(Changed::Identity(key.0));
        if let Some(proofs) = &self.proofs {
            proofs.refused(key, None);
        }
    }
}

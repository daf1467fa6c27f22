//! Checks that are repeated during a request.
//!
//! A credential is checked when the request arrives. The request may then wait for its turn, for v1 or for an equal
//! request, and meanwhile its credential may be revoked or expire. Then nothing more is written for it, and it gets no
//! data. The repeated check uses the same cache as that of a new request, so the store is seldom asked. A key of v1 is
//! checked by v1 at each call.
//!
//! Before a write is refused because a project is missing, v1 is asked again: the cached list may be older than the
//! project. Values that were read from v1 within the call are not read twice.
//!
//! May use: `context`, `refusal`, this folder.

use super::credential::{Credentials, Presented, presented};
use super::service::Access;
use super::{Caller, VisibleProjects, projects_page};
use crate::context::Context;
use crate::refusal::Refusal;
use http::HeaderMap;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

impl Access {
    /// Returns the projects of `named` that are not 404 for the caller. When the cached list lacks one, the list is
    /// read again: the project may be newer than the list.
    pub async fn visible_among(
        &self,
        caller: &Caller,
        slug: &str,
        named: HashSet<Uuid>,
        ctx: &Context,
    ) -> Result<HashSet<Uuid>, Refusal> {
        let now = self.changes().need(&[], Duration::ZERO);
        let mut answer = self.visible_within(caller, slug, self.inner.card_ttl, ctx).await?;
        let is_whole = |seen: &VisibleProjects| named.iter().all(|project| seen.contains(*project));
        if !now.is_met(answer.began) && answer.value.as_ref().is_ok_and(|seen| !is_whole(seen)) {
            answer = self.visible_within(caller, slug, Duration::ZERO, ctx).await?;
        }
        let seen = answer.value?;
        Ok(named.into_iter().filter(|project| seen.contains(*project)).collect())
    }

    /// Returns the id of a workspace as [`Self::workspace_id`] does. A derived id is looked up again: the first project
    /// may have been created since.
    pub async fn workspace_id_to_write(&self, caller: &Caller, slug: &str, ctx: &Context) -> Result<Uuid, Refusal> {
        let now = self.changes().need(&[], Duration::ZERO);
        let id = self.workspace_id(caller, slug, ctx).await?;
        if !self.is_stand_in(slug, id) {
            return Ok(id);
        }
        let known = self.known_id(caller, slug, self.inner.card_ttl, ctx).await?;
        let known =
            if now.is_met(known.began) { known } else { self.known_id(caller, slug, Duration::ZERO, ctx).await? };
        Ok(known.value?.id)
    }

    /// Checks whether `id` is a derived id, used because the caller sees no project of the workspace. A record stored
    /// under it could not be found once a project shows the real id.
    pub fn is_stand_in(&self, slug: &str, id: Uuid) -> bool {
        id == projects_page::derived_id(&self.inner.client.base_url, slug)
    }
}

/// The token or gateway key of a request that may wait; cheap to clone.
#[derive(Clone)]
pub struct Waiting {
    credentials: Arc<dyn Credentials>,
    presented: Presented,
}

impl Access {
    /// Returns the token or gateway key of the headers; none for a key of v1. `id` is the [`presented_id`] of the
    /// headers, if known.
    ///
    /// [`presented_id`]: super::presented_id
    pub fn waiting(&self, headers: &HeaderMap, id: Option<[u8; 32]>) -> Option<Waiting> {
        let credentials = Arc::clone(self.credentials.as_ref()?);
        let own = |presented: &Presented| !matches!(presented, Presented::V1Key(_));
        let presented = presented(headers, id).ok().filter(own)?;
        Some(Waiting { credentials, presented })
    }
}

impl Waiting {
    /// Checks that the credential has not been revoked and has not expired meanwhile.
    ///
    /// # Errors
    /// [`Refusal::InvalidToken`] when it has been revoked or has expired; errors of the store unchanged.
    pub async fn check_again(&self) -> Result<(), Refusal> {
        self.credentials.resolve(self.presented.clone()).await.map(drop)
    }
}

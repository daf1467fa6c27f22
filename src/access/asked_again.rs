//! What is asked again.
//!
//! A request is judged when it comes. It may wait for its turn, for v1 or for an equal one, and its credential may be
//! revoked or expire meanwhile: then nothing is written for it any more, and it is shown nothing. It is looked at as that
//! of a new request, so that the store is seldom asked. A key of v1 is judged by v1 at each call.
//!
//! Before a write is refused for want of a project, what is remembered may be older than the project. Values that were
//! asked for within the call are not asked for twice.
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
    /// Those of `named` that are not 404 for the caller. Where the list remembered lacks one, it is asked for
    /// again: the project may be newer than the list.
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

    /// The id of a workspace as [`Self::workspace_id`] says, asked for again where it stands in for the real one:
    /// a first project may have been made since.
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

    /// Whether `id` stands in for the id of the workspace because the caller sees no project there. A record stored
    /// under it would be out of sight as soon as a project shows the real one.
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
    /// What the headers of a request present, with its [`presented_id`]; none for a key of v1.
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
    /// Looks whether the credential was revoked, or has expired, meanwhile.
    ///
    /// # Errors
    /// [`Refusal::InvalidToken`] when it was; faults of the store as they are.
    pub async fn still_good(&self) -> Result<(), Refusal> {
        self.credentials.resolve(self.presented.clone()).await.map(drop)
    }
}

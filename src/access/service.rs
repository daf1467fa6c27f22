//! The single entry point to access: project cards, workspace cards and workspace ids. Identities are in `identity`.
//!
//! Everything here is cached under the SHA-256 of the key that it was read with, and never given to
//! another key. May use: `context`, `fresh`, `refusal`, `settings`, `v1`, this folder.

use super::acquaintances::{Acquaintance, Acquaintances};
use super::credential::Credentials;
use super::projects_page::ProjectsPage;
use super::remembered::{Ages, Remembered, Verdict};
use super::rosters::{self, Rosters};
use super::shared_proofs::{SharedProofs, Sharing};
use super::{
    Caller, ProjectCard, User, VisibleProjects, WorkspaceCard, paths, project_card, projects_page,
    visible_projects, workspace_asked, workspace_card, workspace_told,
};
use crate::context::Context;
use crate::fresh::{Changed, Changes, Figures, Kept, Moment};
use crate::refusal::Refusal;
use crate::settings::CacheSettings;
use crate::v1::{Client, KeyId, Shortage, V1Error};
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// Most cache entries of each kind of proof.
const PROOFS: u64 = 100_000;
/// Greatest age of "not visible": a person who has just been added should not wait long.
const REFUSED_CARD: Duration = Duration::from_secs(5);
/// Factor by which the owner of a key is cached longer than the key counts as checked, for reads that need a card.
/// The card proves the key, and a key never changes its owner, but the name of its owner may change.
pub(super) const OWNER_LASTS: u32 = 5;
/// Greatest age of a workspace's id, which changes only when a slug is given to another workspace.
const ID_TTL: Duration = Duration::from_secs(600);
/// Most bytes of all workspace cards. They are limited by size, because some hold a large roster.
const WORKSPACE_BYTES: u64 = 64 * 1024 * 1024;
/// Most bytes of all lists of projects.
const LIST_BYTES: u64 = 16 * 1024 * 1024;

/// Shortest `Retry-After` for a caller whose time was over while it waited for v1's quota.
const SOON: Duration = Duration::from_secs(1);

/// A workspace by its slug, as seen with a key.
type Place = (KeyId, Arc<str>);

/// The id of a workspace, and whether it is derived.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownId {
    pub(super) id: Uuid,
    derived: bool,
}

/// Proves credentials and their access. Cheap to clone; all clones share the caches.
#[derive(Clone)]
pub struct Access {
    pub(super) inner: Arc<Inner>,
    pub(super) credentials: Option<Arc<dyn Credentials>>,
    pub(super) proofs: Option<Arc<dyn SharedProofs>>,
}

pub(super) struct Inner {
    pub(super) client: Client,
    changes: Changes,
    pub(super) card_ttl: Duration,
    pub(super) identity_ttl: Duration,
    pub(super) identities: Remembered<(), Arc<User>>,
    projects: Remembered<(Arc<str>, Uuid), Arc<ProjectCard>>,
    workspaces: Remembered<Arc<str>, workspace_card::CardAnswer>,
    rosters: Rosters,
    visible: Remembered<Arc<str>, Arc<VisibleProjects>>,
    ids: Remembered<Arc<str>, KnownId>,
    acquaintances: Acquaintances,
}

impl Access {
    /// Creates the caches. `changes` invalidates their values, and its clock gives their age.
    pub fn new(client: Client, settings: &CacheSettings, changes: &Changes) -> Self {
        let (card_ttl, grace, value) = (settings.card, settings.outage_grace, settings.identity);
        let longest = value * OWNER_LASTS;
        let identity_ages = Ages { value, longest, refusal: settings.refused_identity, grace };
        let card_ages = Ages { value: card_ttl, longest: card_ttl, refusal: REFUSED_CARD.min(card_ttl), grace };
        let id_ages = Ages { value: ID_TTL, longest: ID_TTL, refusal: REFUSED_CARD, grace };
        let budget = &client.budget;
        let inner = Inner {
            identities: Remembered::new(PROOFS, |_| 1, identity_ages, changes, budget),
            projects: Remembered::new(PROOFS, |_| 1, card_ages, changes, budget),
            workspaces: Remembered::new(WORKSPACE_BYTES, workspace_card::weight, card_ages, changes, budget),
            rosters: Rosters::new(rosters::MOST),
            visible: Remembered::new(LIST_BYTES, visible_projects::weight, card_ages, changes, budget),
            ids: Remembered::new(PROOFS, |_| 1, id_ages, changes, budget),
            acquaintances: Acquaintances::new(PROOFS),
            identity_ttl: settings.identity,
            card_ttl,
            client,
            changes: changes.clone(),
        };
        Self { inner: Arc::new(inner), credentials: None, proofs: None }
    }

    /// Sets `credentials` as the source of the gateway's own tokens and keys; without it there are none.
    #[must_use]
    pub fn with_credentials(self, credentials: Arc<dyn Credentials>) -> Self {
        Self { credentials: Some(credentials), ..self }
    }

    /// Returns the figures of the caches by their content.
    pub fn figures(&self) -> [(&'static str, Figures); 5] {
        let inner = &self.inner;
        [
            ("identities", inner.identities.figures()),
            ("project_cards", inner.projects.figures()),
            ("workspace_cards", inner.workspaces.figures()),
            ("visible_projects", inner.visible.figures()),
            ("workspace_ids", inner.ids.figures()),
        ]
    }

    /// Sets where identities and cards are shared with other processes; none for no sharing.
    #[must_use]
    pub fn with_proofs(self, proofs: Option<Arc<dyn SharedProofs>>) -> Self {
        Self { proofs, ..self }
    }

    /// Returns the caller's card of a project, at most `card_ttl` old. A public project has a card too
    /// when the caller has not joined it; see [`ProjectCard::require_member`].
    ///
    /// # Errors
    /// [`Refusal::NotFound`] when the project is absent, archived or not visible to the caller;
    /// [`Refusal::Unauthorized`] when v1 no longer accepts the key; errors of v1 unchanged.
    pub async fn project(
        &self,
        caller: &Caller,
        slug: &str,
        project: Uuid,
        ctx: &Context,
    ) -> Result<Arc<ProjectCard>, Refusal> {
        Ok(self.project_within(caller, slug, project, self.inner.card_ttl, ctx).await?.value)
    }

    /// Returns the caller's card of a project, at most `max_age` old, and when v1 was asked for it.
    pub async fn project_within(
        &self,
        caller: &Caller,
        slug: &str,
        project: Uuid,
        max_age: Duration,
        ctx: &Context,
    ) -> Result<Kept<Arc<ProjectCard>>, Refusal> {
        paths::check(slug)?;
        let place = place(caller, slug);
        let [key, workspace] = voids(&place);
        let voids = [key, workspace, Changed::ProjectAccess(project)];
        let ask = |ctx| {
            let (inner, key, place) = (Arc::clone(&self.inner), caller.key.clone(), place.clone());
            async move {
                let began = inner.changes.now();
                let path = paths::project(&place.1, project)?;
                let verdict = project_card::ask(inner.client.clone(), key, (project, path), ctx).await?;
                match &verdict {
                    Ok(card) if !inner.learn_id(&place, card.workspace_id, began) => {
                        Err(project_card::of_another_workspace())
                    }
                    _ => Ok(verdict),
                }
            }
        };
        let share = || {
            let (inner, place) = (Arc::clone(&self.inner), place.clone());
            Some(Sharing {
                proofs: Arc::clone(self.proofs.as_ref()?),
                key: place.0,
                of: format!("project {project} in {slug}"),
                write: |card: &Arc<ProjectCard>| serde_json::to_string(&**card).ok(),
                read: Box::new(move |proof, began| {
                    let card: ProjectCard =
                        serde_json::from_str(proof).ok().filter(|card: &ProjectCard| card.id == project)?;
                    inner.learn_id(&place, card.workspace_id, began).then(|| Arc::new(card))
                }),
                ends_all: false,
            })
        };
        let key = (place.0, (Arc::clone(&place.1), project));
        let max_age = max_age.min(self.inner.card_ttl);
        let answer = self.inner.projects.get(key, &voids, max_age, ctx, share, ask).await;
        let Kept { value, began } = self.noting_lost_key(place.0, ctx, answer)?;
        let card = value?;
        self.inner.acquaintances.note(&caller.user, card.workspace_id, slug);
        Ok(Kept { value: card, began })
    }

    /// Returns the caller's card of a workspace, at most `card_ttl` old.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] when the workspace is absent or the caller is no member of it;
    /// [`Refusal::Unauthorized`] when v1 no longer accepts the key; errors of v1 unchanged.
    pub async fn workspace(
        &self,
        caller: &Caller,
        slug: &str,
        ctx: &Context,
    ) -> Result<Arc<WorkspaceCard>, Refusal> {
        self.workspace_within(caller, slug, self.inner.card_ttl, ctx).await
    }

    /// Returns the card of [`Access::workspace`], at most `max_age` old (and never older than `card_ttl`), for callers
    /// that want a fresher roster. With zero, v1 is asked after this call began.
    pub async fn workspace_within(
        &self,
        caller: &Caller,
        slug: &str,
        max_age: Duration,
        ctx: &Context,
    ) -> Result<Arc<WorkspaceCard>, Refusal> {
        paths::check(slug)?;
        let place = place(caller, slug);
        let ask = |ctx| {
            let (inner, key, user) = (Arc::clone(&self.inner), caller.key.clone(), caller.user.id);
            let place = place.clone();
            async move {
                let began = inner.changes.now();
                let slug = place.1.to_string();
                let verdict =
                    workspace_asked::ask(inner.client.clone(), key, user, slug, &inner.rosters, ctx).await?;
                if let Ok(workspace_card::CardAnswer { projects: Some(page), .. }) = &verdict {
                    let known = inner.known_id(*page, &place.1);
                    inner.ids.learn(&place, known, began);
                }
                Ok(verdict)
            }
        };
        let max_age = max_age.min(self.inner.card_ttl);
        let share = || {
            let (inner, user) = (Arc::clone(&self.inner), caller.user.id);
            // A caller that wants a fresh answer must not get an older one.
            let proofs = self.proofs.clone().filter(|_| !max_age.is_zero())?;
            let place = place.clone();
            Some(Sharing {
                proofs,
                key: place.0,
                of: format!("workspace {}", place.1),
                write: workspace_told::told,
                read: Box::new(move |proof, began| {
                    let seen = workspace_told::heard(proof, user, &inner.rosters)?;
                    if let Some(page) = seen.projects {
                        inner.ids.learn(&place, inner.known_id(page, &place.1), began);
                    }
                    Some(seen)
                }),
                ends_all: false,
            })
        };
        let workspaces = &self.inner.workspaces;
        let answer = workspaces.get(place.clone(), &voids(&place), max_age, ctx, share, ask).await;
        let answer = self.noting_lost_key(place.0, ctx, answer)?;
        let seen = answer.value?;
        Ok(Arc::new(WorkspaceCard { role: seen.role, roster: seen.roster, read_at: answer.began.at }))
    }

    /// Returns the card as [`Access::workspace_within`] does, with its roster; no roster for guests.
    pub async fn roster_within(
        &self,
        caller: &Caller,
        slug: &str,
        max_age: Duration,
        ctx: &Context,
    ) -> Result<(Arc<WorkspaceCard>, Option<Bytes>), Refusal> {
        // A roster that was dropped from the cache is read again.
        for max_age in [max_age, Duration::ZERO] {
            let card = self.workspace_within(caller, slug, max_age, ctx).await?;
            let Some(roster) = &card.roster else { return Ok((card, None)) };
            if let Some(bytes) = roster.bytes() {
                return Ok((card, Some(bytes)));
            }
        }
        Err(Refusal::Overloaded)
    }

    /// Returns the projects of a workspace that are not 404 for the caller, at most `card_ttl` old: one call per 1,000.
    pub async fn visible_projects(
        &self,
        caller: &Caller,
        slug: &str,
        ctx: &Context,
    ) -> Result<Arc<VisibleProjects>, Refusal> {
        self.visible_within(caller, slug, self.inner.card_ttl, ctx).await?.value
    }

    /// Returns the same list, at most `max_age` old, with the time of its read.
    pub(super) async fn visible_within(
        &self,
        caller: &Caller,
        slug: &str,
        max_age: Duration,
        ctx: &Context,
    ) -> Result<Kept<Verdict<Arc<VisibleProjects>>>, Refusal> {
        let place = place(caller, slug);
        let [key, workspace] = voids(&place);
        let voids = [key, workspace, Changed::AnyProjectAccess];
        let ask = |ctx| {
            let inner = &self.inner;
            visible_projects::ask(inner.client.clone(), caller.key.clone(), slug.to_owned(), ctx)
        };
        let answer = self.inner.visible.get(place.clone(), &voids, max_age, ctx, || None, ask).await;
        self.noting_lost_key(place.0, ctx, answer)
    }

    /// Returns the id of a workspace, from the caller's own cards of the last ten minutes, else from v1.
    /// When the caller sees no project, v1 does not show the id, and an id is derived from the base URL
    /// and the slug. A derived id is looked up again after `card_ttl`.
    pub async fn workspace_id(&self, caller: &Caller, slug: &str, ctx: &Context) -> Result<Uuid, Refusal> {
        let known = self.known_id(caller, slug, ID_TTL, ctx).await?;
        let is_old = !self.inner.changes.need(&[], self.inner.card_ttl).is_met(known.began);
        let known = match known.value? {
            KnownId { derived: true, .. } if is_old => {
                self.known_id(caller, slug, self.inner.card_ttl, ctx).await?.value?
            }
            known => known,
        };
        if !known.derived {
            self.inner.acquaintances.note(&caller.user, known.id, slug);
        }
        Ok(known.id)
    }

    pub(super) async fn known_id(
        &self,
        caller: &Caller,
        slug: &str,
        max_age: Duration,
        ctx: &Context,
    ) -> Result<Kept<Verdict<KnownId>>, Refusal> {
        paths::check(slug)?;
        let place = place(caller, slug);
        let ask = |ctx| {
            let (inner, key, slug) = (Arc::clone(&self.inner), caller.key.clone(), slug.to_owned());
            async move {
                let page = ProjectsPage::ask(inner.client.clone(), key, slug.clone(), ctx).await?;
                Ok(page.map(|page| inner.known_id(page, &slug)))
            }
        };
        let answer = self.inner.ids.get(place.clone(), &voids(&place), max_age, ctx, || None, ask).await;
        self.noting_lost_key(place.0, ctx, answer)
    }

    /// Returns the workspaces where this process has seen a person lately; `None` when there are none.
    pub fn acquaintance(&self, user: Uuid) -> Option<Arc<Acquaintance>> {
        self.inner.acquaintances.of(user)
    }

    /// Returns the changes that invalidate these caches.
    pub fn changes(&self) -> &Changes {
        &self.inner.changes
    }

    fn noting_lost_key<T>(&self, key: KeyId, ctx: &Context, outcome: Result<T, Refusal>) -> Result<T, Refusal> {
        if matches!(outcome, Err(Refusal::Unauthorized { .. })) {
            self.forget_identity(key);
        }
        self.correct_quota_timeout(key, ctx, outcome)
    }

    /// Corrects the refusal of a request whose deadline passed while it waited for a shared call. Such a call may wait
    /// longer for v1's quota than a single request may. The refusal then gives the time until the quota has room, as if
    /// the request had waited alone. It does so too when there is room but the quota is short: the room may be new, and
    /// others wait for it.
    pub(super) fn correct_quota_timeout<T>(
        &self,
        key: KeyId,
        ctx: &Context,
        outcome: Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let Err(Refusal::DeadlineExceeded { maybe_done: false }) = outcome else { return outcome };
        let budget = &self.inner.client.budget;
        let shortage = budget.shortage(key, ctx.priority);
        if shortage.wait.is_zero() && !budget.is_short(key) {
            return Err(V1Error::Timeout { maybe_done: false }.refusal());
        }
        Err(V1Error::Limited(Shortage { wait: shortage.wait.max(SOON), ..shortage }).refusal())
    }
}

fn place(caller: &Caller, slug: &str) -> Place {
    (caller.key.id(), slug.into())
}

/// Returns the changes that invalidate everything known of a place.
fn voids((key, slug): &Place) -> [Changed; 2] {
    [Changed::KeyAccess(key.0), Changed::WorkspaceAccess((&**slug).into())]
}

impl Inner {
    /// Caches the id of a workspace from a project card, whose read began at `began`. Returns false when another id is
    /// known: then one of the two is wrong, or the slug was given away just now, and both are invalidated.
    fn learn_id(&self, place: &Place, id: Uuid, began: Moment) -> bool {
        let known = self.ids.known(place, &self.changes.need(&voids(place), ID_TTL));
        if known.is_some_and(|known| !known.derived && known.id != id) {
            self.changes.tell(Changed::WorkspaceAccess((&*place.1).into()));
            return false;
        }
        self.ids.learn(place, KnownId { id, derived: false }, began);
        true
    }

    fn known_id(&self, page: ProjectsPage, slug: &str) -> KnownId {
        match page.workspace {
            Some(id) => KnownId { id, derived: false },
            None => KnownId { id: projects_page::derived_id(&self.client.base_url, slug), derived: true },
        }
    }
}

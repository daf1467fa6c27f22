//! The parts that all calls share. May use: what `run` may use.

use super::items::deleted_labels::DeletedLabels;
use super::items::fields::RichTexts;
use super::kept::answers::Answers;
use super::kept::beginners::Beginners;
use super::kept::collection::Collection;
use super::kept::losses::Losses;
use super::kept::shelf::{Audience, Shelf};
use super::own::kept_lists::KeptLists;
use super::reads::late::LateAnnouncements;
use crate::access::{Access, Caller, OwnerAge, ProjectCard};
use crate::cache::{Bounds, Cache};
use crate::context::Context;
use crate::fresh::{Changes, Figures};
use crate::heavy::Heavy;
use crate::index::{Indexes, Scope};
use crate::plan::Plan;
use crate::refusal::Refusal;
use crate::settings::{CacheSettings, Settings};
use crate::store::Store;
use crate::trace::carried;
use crate::translate::ReadShape;
use crate::translate::members::Person;
use crate::v1::{API_KEY, Client, V1Key};
use http::{HeaderMap, HeaderValue};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

/// Number of projects whose last epoch is remembered.
const EPOCHS: u64 = 100_000;
const COMPARED: u64 = 100_000;

/// Least time between two indices begun ahead for the same list.
const BEGUN: Duration = Duration::from_secs(600);

const RESTLESS: u64 = 1_000;
const IDENTIFIERS: u64 = 10_000;
/// Number of remembered identifiers that no project had when they were looked up, and how long they are remembered.
const STRANGERS: u64 = 10_000;
const STRANGERS_FOR: Duration = Duration::from_secs(5);
/// Time to remember that v1 does not order by id; another version of v1 may do so.
const NOT_BY_ID_FOR: Duration = Duration::from_secs(60 * 60);

const MADE: u64 = 1_000_000;
/// Number of remembered work items that were created without type and values, and how long they are remembered.
const PLAIN: u64 = 100_000;
const PLAIN_FOR: Duration = Duration::from_secs(24 * 60 * 60);

/// Least time for which a new record is remembered as new.
const REMEMBERED: Duration = Duration::from_secs(60);

/// Returns the age from which a collection is not used any more.
fn longest(cache: &CacheSettings) -> Duration {
    cache.collection.max(cache.stretch).max(cache.stale_if_error)
}

/// Returns the gateway's own key, which reads indices.
pub fn service_key(settings: &Settings) -> Option<V1Key> {
    settings.upstream.service_key.as_ref().map(|key| V1Key::new(key.expose()))
}

/// All parts that carrying out a call needs.
#[derive(Clone)]
pub struct Runner {
    pub(crate) plan: Arc<Plan>,
    pub(super) shapes: Arc<[ReadShape]>,
    pub(super) client: Client,
    pub(super) access: Access,
    pub(super) store: Store,
    pub(super) indexes: Indexes,
    pub(super) heavy: Heavy,
    pub(super) collections: Arc<Shelf<Collection>>,
    pub(super) rosters: Arc<Shelf<Vec<Person>>>,
    pub(super) sets: Arc<Shelf<HashSet<Uuid>>>,
    pub(super) answers: Answers,
    pub(super) own_lists: KeptLists,
    pub(super) rich_texts: RichTexts,
    /// Labels deleted a moment ago, which v1 may still show on items.
    pub(super) deleted_labels: DeletedLabels,
    /// Labels that items had, but that were missing in v1's list afterwards.
    pub(super) unlisted_labels: DeletedLabels,
    /// Records recently created by requests of this process; each is the answer of one request only.
    pub(super) made: Cache<Uuid, ()>,
    /// Work items created by requests of this process without type and values; so no other request created them.
    pub(super) plain: Cache<Uuid, ()>,
    /// Projects whose recorded items were compared with an index recently.
    pub(super) compared: Cache<Uuid, ()>,
    /// Lists that recently kept changing during a read, by v1 path and the audience that sees the same rows.
    pub(super) restless: Cache<(Arc<str>, Audience), Refusal>,
    /// Reads that wait for quota to begin.
    pub(super) beginners: Beginners,
    /// Indices that were begun ahead recently.
    pub(super) begun_ahead: Cache<Scope, ()>,
    pub(super) changes: Changes,
    /// The last epoch of each project that this process has handled; `catch_up` explains epochs.
    pub(super) epochs: Cache<Uuid, i64>,
    pub(super) late: LateAnnouncements,
    pub(super) losses: Losses,
    /// Writes under way, whose clients may have left.
    writes: TaskTracker,
    pub(super) settings: Settings,
    pub(super) service_key: Option<V1Key>,
    /// Identifiers that a project did not have at a recent look-up.
    pub(super) strangers: Cache<(Uuid, Box<str>), ()>,
    /// Holds an entry when v1 has recently ignored the order by id and used another one.
    pub(super) not_by_id: Cache<(), ()>,
    /// The project that had an identifier when it was last seen, by workspace.
    identifiers: Cache<(Box<str>, Box<str>), Uuid>,
}

/// Creates the cache of lists that kept changing; entries expire after `time`.
fn restless(time: Duration) -> Cache<(Arc<str>, Audience), Refusal> {
    Cache::new(Bounds::of(RESTLESS).for_time(time))
}

impl Runner {
    pub fn new(
        plan: Arc<Plan>,
        client: Client,
        access: Access,
        store: Store,
        indexes: Indexes,
        settings: Settings,
    ) -> Self {
        let changes = access.changes().clone();
        Self {
            shapes: plan.resources.iter().map(ReadShape::of).collect(),
            collections: Arc::new(Shelf::new(settings.cache.collection, longest(&settings.cache), &changes)),
            rosters: Arc::new(Shelf::new(settings.cache.collection, longest(&settings.cache), &changes)),
            sets: Arc::new(Shelf::new(settings.cache.collection, longest(&settings.cache), &changes)),
            answers: Answers::new(settings.cache.stale_if_error, &changes),
            own_lists: KeptLists::default(),
            rich_texts: RichTexts::default(),
            deleted_labels: DeletedLabels::default(),
            unlisted_labels: DeletedLabels::default(),
            made: Cache::new(Bounds::of(MADE).for_time(settings.store.late_write * 2 + REMEMBERED)),
            plain: Cache::new(Bounds::of(PLAIN).for_time(PLAIN_FOR)),
            compared: Cache::new(Bounds::of(COMPARED).for_time(indexes.settings().sweep)),
            begun_ahead: Cache::new(Bounds::of(COMPARED).for_time(BEGUN)),
            restless: restless(settings.cache.collection),
            beginners: Beginners::default(),
            plan,
            client,
            access,
            store,
            indexes,
            heavy: Heavy::for_this_machine(),
            changes,
            epochs: Cache::new(Bounds::of(EPOCHS)),
            late: LateAnnouncements::default(),
            losses: Losses::default(),
            writes: TaskTracker::new(),
            service_key: service_key(&settings),
            settings,
            strangers: Cache::new(Bounds::of(STRANGERS).for_time(STRANGERS_FOR)),
            not_by_id: Cache::new(Bounds::of(1).for_time(NOT_BY_ID_FOR)),
            identifiers: Cache::new(Bounds::of(IDENTIFIERS)),
        }
    }

    /// Creates a runner with `plan`, `access` and `settings` that shares with this one the state both must know:
    /// writers, created records, cached data. Data that another plan translated, or that were built by other rules, are
    /// not shared.
    pub fn with_settings(&self, plan: Arc<Plan>, access: Access, settings: Settings) -> Self {
        let same = Arc::ptr_eq(&plan, &self.plan);
        let same_types = same && settings.types == self.settings.types;
        let time_to_live = settings.cache.collection;
        let is_same_time = time_to_live == self.settings.cache.collection;
        Self {
            shapes: plan.resources.iter().map(ReadShape::of).collect(),
            collections: Arc::new(self.collections.with_ages(time_to_live, longest(&settings.cache), same)),
            rosters: Arc::new(self.rosters.with_ages(time_to_live, longest(&settings.cache), true)),
            sets: Arc::new(self.sets.with_ages(time_to_live, longest(&settings.cache), true)),
            answers: self.answers.with_age(settings.cache.stale_if_error),
            own_lists: if same_types { self.own_lists.clone() } else { KeptLists::default() },
            restless: if is_same_time { self.restless.clone() } else { restless(time_to_live) },
            plan,
            access,
            service_key: service_key(&settings),
            settings,
            ..self.clone()
        }
    }

    /// Starts `work` of a write. It goes on when the client leaves, and the end of the process waits for it.
    pub fn spawn_write<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.writes.spawn(carried(work))
    }

    /// Waits until all writes under way have ended, but not beyond `patience`. No write may begin any more.
    pub async fn writes_have_ended(&self, patience: Instant) {
        self.writes.close();
        let left = self.writes.len();
        if left > 0 {
            tracing::info!(left, "waiting for writes whose clients have left");
        }
        if tokio::time::timeout_at(patience.into(), self.writes.wait()).await.is_err() {
            tracing::warn!(left = self.writes.len(), "drain time over, leaving writes in the middle");
        }
    }

    /// Checks whether v1 shows the owner of `key` the rows of `scope`: the owner is a member of the same kind.
    pub(super) async fn sees_the_same(&self, key: &V1Key, scope: &Scope, ctx: &Context) -> Result<bool, Refusal> {
        let caller = self.prove(key, ctx).await?;
        let card = self.access.project(&caller, &scope.workspace, scope.project, ctx).await?;
        Ok(card.require_member()?.is_above_guest() == scope.members)
    }

    /// Returns the owner of the gateway's own key.
    pub(super) async fn prove(&self, key: &V1Key, ctx: &Context) -> Result<Caller, Refusal> {
        let key = HeaderValue::from_str(key.expose()).map_err(|_| Refusal::internal("an odd key"))?;
        let headers = HeaderMap::from_iter([(API_KEY, key)]);
        self.access.identify(&headers, None, OwnerAge::Recent, ctx).await
    }

    /// Remembers which project an identifier belongs to.
    pub(super) fn learn_identifier(&self, workspace: &str, card: &ProjectCard) {
        let place = (Box::from(workspace), Box::from(&*card.identifier));
        if self.identifiers.get(&place) != Some(card.id) {
            self.identifiers.insert(place, card.id);
        }
    }

    /// Returns the project that last had this identifier. The caller must still prove access to it.
    pub(super) fn project_with(&self, workspace: &str, identifier: &str) -> Option<Uuid> {
        self.identifiers.get(&(Box::from(workspace), Box::from(identifier)))
    }

    /// Returns the figures of the caches of v1's data, by name.
    pub fn figures(&self) -> [(&'static str, Figures); 4] {
        [
            ("collections", self.collections.figures()),
            ("rosters", self.rosters.figures()),
            ("sets", self.sets.figures()),
            ("answers", self.answers.figures()),
        ]
    }
}

//! Fallbacks of reads while v1's quota is short: collections and indices that are older than usual, up to
//! `cache.stretch`, noted in `Age` and `Server-Timing`.
//!
//! Older data only prove that something exists; whether something is missing is still asked of v1, and so is
//! everything about access. Writes never use older data. May use: what `run` may use.

use crate::context::{Context, Note, Priority};
use crate::fresh::Kept;
use crate::index::{Index, ReadFailure, Scope};
use crate::refusal::Refusal;
use crate::run::job::{InProject, Job};
use crate::run::kept::empty_lists::OLDER;
use crate::run::kept::shelf::{Place, Shelf, Shelved};
use crate::translate::work_items::Item;
use crate::v1::{Room, V1Error, V1Key};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time in which the gateway notices that the database of the store does not respond.
const NOTICED: Duration = Duration::from_secs(2);
/// Most attempts at a shared read before a separate one is made.
const ROUNDS: usize = 3;
/// Reads that one key may begin at the same moment. Without quota for twice as many, each must reserve its call first.
const AT_ONCE: usize = 8;
/// Longest wait for v1's check of the gateway's own key; the check then goes on for later requests.
const OWN_PROOF: Duration = Duration::from_secs(2);
/// Interval at which a request that waits for quota checks whether another one has begun the read.
const LOOK: Duration = Duration::from_millis(50);

#[derive(Debug, Clone, Copy)]
pub(in crate::run) struct Reading {
    /// Largest age of the caller's rights, at the time of the read, with which an empty list is proven.
    pub(in crate::run) older: Duration,
    /// Whether no other request waits for it.
    pub(in crate::run) alone: bool,
}

impl Job {
    /// Returns the context of such a read. A shared read does not wait for the quota of this call's key.
    pub(in crate::run) fn ctx_of(&self, reading: Reading) -> Context {
        if reading.alone { self.shared_ctx() } else { self.shared_ctx().for_all() }
    }

    /// Checks whether this call may be answered with older data than usual.
    fn may_stretch(&self) -> bool {
        self.call.ctx.priority == Priority::Read
    }

    /// Checks whether this call should use cached data.
    pub(in crate::run) fn is_short(&self) -> bool {
        self.is_short_for(self.key())
    }

    /// Checks whether waiting for quota makes sense: that of this call's key is counted, or that of all keys is used up.
    fn is_paced(&self) -> bool {
        let (budget, key) = (&self.runner.client.budget, self.key().id());
        budget.paces(key) || !budget.shortage(key, Priority::Read).wait.is_zero()
    }

    /// Returns the refusal of a read that needs more of v1's quota than there is.
    pub(in crate::run) fn no_quota(&self) -> Refusal {
        V1Error::Limited(self.runner.client.budget.shortage(self.key().id(), Priority::Read)).refusal()
    }

    fn is_short_for(&self, key: &V1Key) -> bool {
        self.may_stretch() && self.runner.client.budget.is_short(key.id())
    }

    /// Notes that the answer uses data of `read_at` that were requested at `asked`; with enough quota they would be at
    /// most `usual` old.
    pub(in crate::run) fn uses(&self, read_at: Instant, asked: Instant, usual: Duration) {
        let meter = &self.call.ctx.meter;
        let older = read_at < asked && asked - read_at >= usual;
        // Data that are used because v1 gave nothing newer are already noted.
        let told = meter.uses_older_data();
        if older && !told { meter.relies_on(read_at, Note::Stale) } else { meter.used(read_at) }
    }

    /// Returns the age up to which collections are used now.
    pub(in crate::run) fn collection_age(&self) -> Duration {
        let settings = &self.runner.settings;
        if self.is_short() {
            settings.cache.stretch.max(settings.cache.collection)
        } else {
            settings.cache.collection
        }
    }

    /// Returns the thing at `place`: cached, cached for longer while v1's quota is short, or read.
    pub(in crate::run) async fn load_from<T, F>(
        &self,
        shelf: &Shelf<T>,
        place: &Place,
        read: impl Fn(Reading) -> F,
    ) -> Result<Kept<Arc<T>>, Refusal>
    where
        T: Shelved,
        F: Future<Output = Result<T, Refusal>> + Send + 'static,
    {
        for round in 1..=ROUNDS {
            let (begun_here, of_another) = (AtomicBool::new(false), AtomicBool::new(false));
            let begin = |reading| {
                begun_here.store(true, Ordering::Relaxed);
                read(reading)
            };
            let loaded = self.kept_or_read(shelf, place, begin, &of_another).await;
            let (begun_here, of_another) = (begun_here.into_inner(), of_another.into_inner());
            // The result of a read with another key may be valid for that key alone. It may also have failed because
            // of it: it lost access, is not accepted any more, or has no quota left.
            match (&loaded, self.call.card()) {
                (Ok(kept), _) if kept.value.counts_for(self.key().id()) => return loaded,
                (Ok(_), _) => {}
                (Err(Refusal::RateLimited { .. }), _) if of_another => {}
                // Now wait for quota, or for a read that another request begins. Of the requests that waited for the
                // last one, only the request that began it continues alone.
                (Err(Refusal::RateLimited { .. }), _) if self.is_paced() && (round < ROUNDS || begun_here) => {}
                _ if !of_another => return self.explain_refused_read(loaded).await,
                (Err(Refusal::Unauthorized { .. }), _) => {}
                (Err(Refusal::NotFound { .. } | Refusal::Forbidden { .. }), Some(card)) => {
                    self.prove_anew(card.id).await?;
                }
                _ => return self.explain_refused_read(loaded).await,
            }
        }
        self.read_alone(read).await
    }

    /// Returns the thing at `place` from a read that began after `since`, without using caches.
    pub(in crate::run) async fn read_since<T, F>(
        &self,
        shelf: &Shelf<T>,
        place: &Place,
        since: Instant,
        read: impl Fn(Reading) -> F,
    ) -> Result<Kept<Arc<T>>, Refusal>
    where
        T: Shelved,
        F: Future<Output = Result<T, Refusal>> + Send + 'static,
    {
        let (audience, key) = (self.audience()?, self.key().id());
        let begin = async || {
            let read = || read(Reading { older: OLDER, alone: false });
            shelf.load(place, audience, since.elapsed(), key, read).await
        };
        let mut loaded = begin().await;
        let is_limited = |failure: &ReadFailure| matches!(failure.refusal, Refusal::RateLimited { .. });
        if self.is_paced() && loaded.as_ref().is_err_and(is_limited) {
            // There was no quota for asking v1. Now wait for quota, or for a read that another request begins.
            let is_begun = || {
                let age = since.elapsed();
                shelf.is_read(place, audience, age) || shelf.kept_within(place, audience, age).is_some()
            };
            let _room = self.room_to_begin(&place.path, self.key(), is_begun).await?;
            loaded = begin().await;
        }
        if loaded.as_ref().is_err_and(|failure| failure.concerns_another_key(key)) {
            // It was the read of another key, which may have lost access or quota.
            return self.read_alone(read).await;
        }
        match self.explain_refused_read(loaded.map_err(|failure| failure.refusal)).await? {
            loaded if loaded.value.counts_for(key) => Ok(loaded),
            _ => self.read_alone(read).await,
        }
    }

    /// Makes a read that no other request joins.
    async fn read_alone<T, F>(&self, read: impl FnOnce(Reading) -> F) -> Result<Kept<Arc<T>>, Refusal>
    where
        F: Future<Output = Result<T, Refusal>>,
    {
        let began = self.runner.changes.now();
        let read = read(Reading { older: Duration::ZERO, alone: true });
        let value = self.explain_refused_read(read.await).await?;
        Ok(Kept { value: Arc::new(value), began })
    }

    /// Returns the thing at `place`, cached or read. `of_another` is set when a read failed that used another key, and
    /// the failure may concern only that key.
    async fn kept_or_read<T, F>(
        &self,
        shelf: &Shelf<T>,
        place: &Place,
        read: impl FnOnce(Reading) -> F,
        of_another: &AtomicBool,
    ) -> Result<Kept<Arc<T>>, Refusal>
    where
        T: Shelved,
        F: Future<Output = Result<T, Refusal>> + Send + 'static,
    {
        let (audience, asked) = (self.audience()?, Instant::now());
        let settings = &self.runner.settings;
        let (usual, key) = (settings.cache.collection, self.key());
        let kept_within =
            |age| shelf.kept_within(place, audience, age).filter(|kept| kept.value.counts_for(key.id()));
        if let Some(kept) = kept_within(usual) {
            self.uses(kept.began.at, asked, usual);
            return Ok(kept);
        }
        let loaded = match self.is_short().then(|| kept_within(settings.cache.stretch)).flatten() {
            Some(kept) => kept,
            None => {
                let older = || {
                    let kept = kept_within(settings.cache.stale_if_error)?;
                    let read_at = kept.began.at;
                    Some((kept, read_at))
                };
                let load = async {
                    let is_begun = || shelf.is_read(place, audience, usual) || kept_within(usual).is_some();
                    let _room = self.room_to_begin(&place.path, key, is_begun).await?;
                    // The cached thing may be valid for another caller alone. A new read must then be valid for all.
                    let kept = shelf.kept_within(place, audience, usual);
                    let (age, older) = match kept.is_some_and(|kept| !kept.value.counts_for(key.id())) {
                        true => (asked.elapsed(), Duration::ZERO),
                        false => (usual, OLDER),
                    };
                    let read = || read(Reading { older, alone: false });
                    shelf.load(place, audience, age, key.id(), read).await.map_err(|failure| {
                        of_another.store(failure.concerns_another_key(key.id()), Ordering::Relaxed);
                        failure.refusal
                    })
                };
                match self.list_or_older(&place.path, older, Box::pin(load)).await {
                    Err(refusal @ Refusal::RateLimited { .. }) if self.may_stretch() => {
                        kept_within(settings.cache.stretch).ok_or(refusal)?
                    }
                    outcome => outcome?,
                }
            }
        };
        self.uses(loaded.began.at, asked, usual);
        Ok(loaded)
    }

    /// Reserves room for the first call of a read of `path` that others may join. None is needed where the quota has
    /// room for many, or as soon as another request has begun the read (`is_begun`).
    async fn room_to_begin(
        &self,
        path: &Arc<str>,
        key: &V1Key,
        is_begun: impl Fn() -> bool,
    ) -> Result<Option<Room>, Refusal> {
        let (budget, ctx) = (&self.runner.client.budget, &self.call.ctx);
        // A write waits for room before it reads, and reserves its own.
        if ctx.priority != Priority::Read {
            return Ok(None);
        }
        let none_in_time = |shortage| V1Error::Limited(shortage).refusal();
        let what = (Arc::clone(path), key.id());
        while !is_begun() && !budget.spares(key.id(), Priority::Read, AT_ONCE) {
            let Some(_waiting) = self.runner.beginners.wait_for(&what) else {
                let shortage = budget.shortage(key.id(), Priority::Read);
                if shortage.wait > ctx.quota_wait_limit() {
                    return Err(none_in_time(shortage));
                }
                tokio::time::sleep(LOOK).await;
                continue;
            };
            let begun = async {
                while !is_begun() {
                    tokio::time::sleep(LOOK).await;
                }
            };
            return tokio::select! {
                room = budget.keep_room(key.id(), 1, ctx) => room.map(Some).map_err(none_in_time),
                () = begun => Ok(None),
            };
        }
        Ok(None)
    }
}

impl InProject<'_> {
    /// Returns the index of this call's project: fresh, or older while v1's quota is short.
    pub(in crate::run) async fn index(&self, scope: &Scope) -> Result<Arc<Index>, Refusal> {
        self.runner.learn_identifier(self.slug(), self.card);
        let (indexes, ctx) = (&self.runner.indexes, &self.call.ctx);
        if let Some(index) = self.index_before_the_outage(scope).await {
            return Ok(index);
        }
        let key = self.index_key(scope).await;
        if self.is_short_for(&key)
            && let Some(index) = self.kept_index(scope)
        {
            return Ok(index);
        }
        let fresh = async {
            // Another process may have read it already.
            let own = key.id() == self.key().id();
            let begin = async |keeps_room| {
                let _room = match keeps_room {
                    true => self.room_to_begin(&scope.path, &key, || indexes.is_fresh_soon(scope)).await?,
                    false => None,
                };
                indexes.fresh(scope, &key, ctx).await
            };
            let mut outcome = begin(own && !indexes.is_shared()).await;
            let uses_older_data = || self.may_stretch() && self.stretched_index(scope).is_some();
            if own && self.is_paced() && matches!(outcome, Err(Refusal::RateLimited { .. })) && !uses_older_data() {
                // There was no quota when v1 was asked. Now wait for quota, or for a read that another request begins.
                outcome = begin(true).await;
            }
            if key.id() != self.key().id() && outcome.is_err() && !ctx.remaining().is_zero() {
                // A fault of the gateway's own key must not affect this caller.
                outcome = indexes.fresh(scope, self.key(), ctx).await;
            }
            outcome
        };
        let begun = Instant::now();
        let outcome = self.list_or_older(&scope.path, || self.older_index(scope), Box::pin(fresh)).await;
        if let Some(trace) = ctx.meter.trace() {
            trace.step("index", begun);
        }
        match outcome {
            Err(refusal @ (Refusal::RateLimited { .. } | Refusal::IndexBuilding { .. })) if self.may_stretch() => {
                self.kept_index(scope).ok_or(refusal)
            }
            Ok(index) => {
                let read_at = indexes.kept_within(scope, indexes.settings().freshness).map(|kept| kept.began.at);
                if let Some(read_at) = read_at {
                    ctx.meter.used(read_at);
                }
                if index.is_empty() {
                    self.prove_empty(read_at.unwrap_or(begun)).await?;
                }
                Ok(index)
            }
            Err(refusal) => Err(refusal),
        }
    }

    /// Returns the index of this call's project from a read that begins after now, because a body can also name an item
    /// created a moment ago.
    pub(in crate::run) async fn newest_index(&self) -> Result<Arc<Index>, Refusal> {
        let asked = Instant::now();
        let newest = self.runner.indexes.newest(&self.index_scope()?, self.key(), &self.call.ctx).await;
        let index = self.explain_refused_read(newest).await?;
        if index.is_empty() {
            self.prove_empty(asked).await?;
        }
        Ok(index)
    }

    /// While the database of the store does not respond, returns the index from before: since then, other processes may
    /// have recorded types for the items that v1 shows now. A project without recorded data needs no such index.
    async fn index_before_the_outage(&self, scope: &Scope) -> Option<Arc<Index>> {
        let since = self.runner.store.away_since().filter(|_| self.call.ctx.tolerant)?;
        let (index, read_at) = self.older_index(scope).filter(|(_, read_at)| *read_at + NOTICED <= since)?;
        let recorded = self.runner.store.project_items(scope.project).await.ok()?;
        if recorded.is_nothing() {
            return None;
        }
        self.call.ctx.meter.relies_on(read_at, Note::Store);
        Some(index)
    }

    /// Like [`Runner::prove_empty`], for work items of this call's project.
    pub(in crate::run) async fn prove_empty(&self, read_at: Instant) -> Result<(), Refusal> {
        let (call, project) = (&self.call, self.card.id);
        let proven = self.runner.prove_empty(&call.caller, self.slug(), project, read_at, OLDER, &call.ctx);
        proven.await.map(drop)
    }

    /// Returns the present index, if it is not too old for a shortage of quota.
    fn kept_index(&self, scope: &Scope) -> Option<Arc<Index>> {
        let kept = self.stretched_index(scope)?;
        self.uses(kept.began.at, Instant::now(), self.runner.indexes.settings().freshness);
        Some(kept.value)
    }

    fn stretched_index(&self, scope: &Scope) -> Option<Kept<Arc<Index>>> {
        self.runner.indexes.kept_within(scope, self.runner.settings.cache.stretch)
    }

    /// Returns the item that `find` finds in the index, while v1's quota is short; none proves nothing about v1.
    pub(in crate::run) async fn item_in_shortage(
        &self,
        find: impl Fn(&Index) -> Option<Item>,
    ) -> Result<Option<Item>, Refusal> {
        if !self.is_short() {
            return Ok(None);
        }
        let scope = self.index_scope()?;
        let indexes = &self.runner.indexes;
        let kept = self.stretched_index(&scope);
        let Some((item, read_at)) = kept.and_then(|kept| Some((find(&kept.value)?, kept.began.at))) else {
            return Ok(None);
        };
        let item = self.with_live_labels(item).await?;
        self.uses(read_at, Instant::now(), indexes.settings().freshness);
        self.call.ctx.meter.note(Note::Index);
        Ok(Some(item))
    }

    /// Returns the key that reads the index: the gateway's own if v1 shows its owner the same rows, else the caller's.
    async fn index_key(&self, scope: &Scope) -> V1Key {
        match &self.runner.service_key {
            Some(service) if self.may_stretch() => {
                let ctx = self.shared_ctx().with_priority(Priority::Index);
                let sees = self.runner.sees_the_same(service, scope, &ctx);
                match tokio::time::timeout(OWN_PROOF, sees).await {
                    Ok(Ok(true)) => service.clone(),
                    _ => self.key().clone(),
                }
            }
            _ => self.key().clone(),
        }
    }
}

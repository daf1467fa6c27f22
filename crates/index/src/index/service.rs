//! All indices: who asks, who waits, what is kept.
//!
//! A request gets an index that was read from v1 at most the freshness window ago and after anything touched
//! the project. Concurrent requests share one read, which is a task of its own and goes on when all who wait
//! have left. Own writes are taken in at once, also while a read is under way.
//!
//! May use: `v2`, `coalesce`, `context`, `refusal`, `v1`, `translate` (the typed item), this folder.

use super::build::{SIZES, build};
use super::entry::{Entry, Found, Stamp};
use super::own::Own;
use super::project_index::Index;
use super::refresh::{Refresh, Refreshed, Verified};
use super::snapshot::Snapshot;
use super::source::V1Source;
use crate::coalesce::Coalesce;
use crate::context::{Context, Priority};
use crate::refusal::Refusal;
use crate::translate::work_items::Item;
use crate::v1::{Client, KeyId, V1Key};
use crate::v2::time::Micros;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use uuid::Uuid;

/// Time kept back of a deadline, to answer in.
const RESERVE: Duration = Duration::from_millis(500);
/// Reads a request waits for: one that began too early, the next one, and another for the refusal of a
/// stranger's key.
const READS: usize = 4;
/// Time from a change to the writing of the file.
const DEBOUNCE: Duration = Duration::from_secs(30);
/// How far v1's clock may be behind ours for a change during a build to be noticed.
const SKEW: Duration = Duration::from_secs(2);

/// How indices are kept.
#[derive(Debug, Clone)]
pub struct IndexSettings {
    /// Age up to which an index is used without asking v1.
    pub freshness: Duration,
    /// Time from one comparison of all ids to the next.
    pub sweep: Duration,
    /// Bytes held by all indices together.
    pub max_bytes: usize,
    /// Where indices are kept on disk; nowhere when absent.
    pub directory: Option<PathBuf>,
    /// Longest time for one v1 call of shared work.
    pub shared_work: Duration,
}

/// A list of work items, and the audience that v1 shows the same rows of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Scope {
    /// Workspace slug.
    pub workspace: Arc<str>,
    /// Project.
    pub project: Uuid,
    /// v1 path of the list below `/api/v1/`, with its slash.
    pub path: Arc<str>,
    /// Role class: above guest.
    pub members: bool,
}

/// The indices of all projects in use; cheap to clone, all clones are the same.
#[derive(Clone)]
pub struct Indexes {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    settings: IndexSettings,
    entries: Mutex<HashMap<Scope, Arc<Entry>>>,
    reads: Coalesce<Scope, Outcome>,
    ticks: AtomicU64,
}

/// What a read came to, and with whose key; a refusal may be about that key alone.
#[derive(Clone)]
struct Outcome {
    found: Result<Found, Refusal>,
    key: KeyId,
}

impl Indexes {
    /// No index yet.
    pub fn new(client: Client, settings: IndexSettings) -> Self {
        let ticks = AtomicU64::new(1);
        let inner = Inner { client, settings, entries: Mutex::default(), reads: Coalesce::default(), ticks };
        Self { inner: Arc::new(inner) }
    }

    /// The index of `scope`, at most the freshness window old: a warm one, or one built or refreshed now,
    /// together with all who ask. The caller has proven that v1 shows them the rows of this scope.
    ///
    /// # Errors
    /// [`Refusal::IndexBuilding`] when the read outlasts the deadline (it goes on), else what v1 refuses.
    pub async fn fresh(&self, scope: &Scope, key: &V1Key, ctx: &Context) -> Result<Arc<Index>, Refusal> {
        self.within(self.inner.settings.freshness, scope, key, ctx).await
    }

    /// The index of `scope` as a read shows it that begins after now.
    ///
    /// # Errors
    /// As [`Indexes::fresh`].
    pub async fn newest(&self, scope: &Scope, key: &V1Key, ctx: &Context) -> Result<Arc<Index>, Refusal> {
        self.within(Duration::ZERO, scope, key, ctx).await
    }

    async fn within(
        &self,
        age: Duration,
        scope: &Scope,
        key: &V1Key,
        ctx: &Context,
    ) -> Result<Arc<Index>, Refusal> {
        let entry = self.inner.entry(scope);
        entry.asked();
        let need = entry.need(age);
        let mut last = None;
        for _ in 0..READS {
            if let Some(index) = entry.meeting(&need, self.inner.tick()) {
                return Ok(index);
            }
            let wait = ctx.remaining().saturating_sub(RESERVE);
            let read = self.inner.reads.run(scope.clone(), || self.read(scope, &entry, key, ctx));
            let Ok(outcome) = tokio::time::timeout(wait, read).await else { return Err(entry.progress.refusal()) };
            let outcome = outcome?;
            match outcome.found {
                Ok(found) if need.is_met(found.stamp) => return Ok(found.index),
                Ok(_) => {}
                Err(refusal) if outcome.key != key.id() && concerns_a_key(&refusal) => last = Some(refusal),
                Err(refusal) => return Err(refusal),
            }
        }
        Err(last.unwrap_or_else(|| entry.progress.refusal()))
    }

    /// Scopes whose index requests asked for within `within`.
    pub fn in_use(&self, within: Duration) -> Vec<Scope> {
        let known = self.inner.entries_where(|_| true).into_iter();
        known.filter(|(_, entry)| entry.is_in_use(within)).map(|(scope, _)| scope).collect()
    }

    /// Brings an index up to date before requests have to wait for it: once it is older than half the
    /// freshness window. `key` must have been shown the same rows.
    ///
    /// # Errors
    /// What v1 refuses.
    pub async fn renew(&self, scope: &Scope, key: &V1Key, ctx: &Context) -> Result<(), Refusal> {
        let entry = self.inner.entry(scope);
        let need = entry.need(self.inner.settings.freshness / 2);
        if entry.meeting(&need, self.inner.tick()).is_some() {
            return Ok(());
        }
        let outcome = self.inner.reads.run(scope.clone(), || self.read(scope, &entry, key, ctx)).await?;
        outcome.found.map(|_| ())
    }

    /// The freshness window.
    pub fn freshness(&self) -> Duration {
        self.inner.settings.freshness
    }

    fn read(
        &self,
        scope: &Scope,
        entry: &Arc<Entry>,
        key: &V1Key,
        ctx: &Context,
    ) -> impl Future<Output = Result<Outcome, Refusal>> + Send + 'static {
        let (inner, entry, scope, key) = (Arc::clone(&self.inner), Arc::clone(entry), scope.clone(), key.clone());
        let ctx = ctx.for_shared_work(inner.settings.shared_work);
        async move {
            let id = key.id();
            let found = inner.carry_out(&scope, &entry, key, ctx).await;
            Ok(Outcome { found, key: id })
        }
    }

    /// A warm index young enough to vouch, without asking v1.
    pub fn peek(&self, scope: &Scope) -> Option<Arc<Index>> {
        let entry = self.inner.known(scope)?;
        let need = entry.need(self.inner.settings.freshness);
        entry.meeting(&need, self.inner.tick())
    }

    /// The index as it is when it is younger than `age` and nothing touched the project since, and when it was
    /// read. Counts as asked for.
    pub fn kept_within(&self, scope: &Scope, age: Duration) -> Option<(Arc<Index>, Instant)> {
        let entry = self.inner.known(scope)?;
        entry.asked();
        entry.aged(&entry.need(age))
    }

    /// Whether an index exists, of any age, so that lists should prefer it to direct pages.
    pub fn is_built(&self, scope: &Scope) -> bool {
        match self.inner.known(scope) {
            Some(entry) => entry.is_built(),
            None => self.inner.snapshot(scope).is_some_and(|snapshot| snapshot.exists()),
        }
    }

    /// Whether the kept index of a project shows an item, without asking v1; none when no index is kept.
    pub fn shows(&self, project: Uuid, id: Uuid) -> Option<bool> {
        let entries = self.inner.entries_where(|scope| scope.project == project && scope.members);
        entries.iter().find_map(|(_, entry)| entry.any_age()).map(|index| index.get(id).is_some())
    }

    /// Time from one comparison of all ids to the next.
    pub fn sweep(&self) -> Duration {
        self.inner.settings.sweep
    }

    /// An own write has left this item: the next request sees it, whatever read is under way.
    pub fn changed(&self, project: Uuid, item: &Item) {
        self.own(project, &Own::of(item));
    }

    /// An own write has taken this item out of the lists.
    pub fn gone(&self, project: Uuid, id: Uuid) {
        self.own(project, &Own::Gone(id));
    }

    fn own(&self, project: Uuid, own: &Own) {
        for (_, entry) in self.inner.entries_where(|scope| scope.project == project) {
            if entry.own(own) {
                self.inner.save_soon(&entry);
            }
        }
    }

    /// Something of this project may have changed on v1: the next [`Indexes::fresh`] asks it.
    pub fn touched(&self, project: Uuid) {
        self.touch(|scope| scope.project == project);
    }

    /// Something of this workspace may have changed on v1.
    pub fn touched_workspace(&self, workspace: &str) {
        self.touch(|scope| &*scope.workspace == workspace);
    }

    fn touch(&self, wanted: impl Fn(&Scope) -> bool) {
        let tick = self.inner.tick();
        self.inner.entries_where(wanted).iter().for_each(|(_, entry)| entry.touch(tick));
    }

    /// Writes what is not yet on disk.
    pub async fn close(&self) {
        for (_, entry) in self.inner.entries_where(|_| true) {
            let _ = tokio::task::spawn_blocking(move || entry.save()).await;
        }
    }
}

/// Whether a refusal may be about the key used, so that another key may fare better.
fn concerns_a_key(refusal: &Refusal) -> bool {
    matches!(
        refusal,
        Refusal::Unauthorized { .. }
            | Refusal::Forbidden { .. }
            | Refusal::NotFound { .. }
            | Refusal::RateLimited { .. }
    )
}

/// Ends the noting of own writes, however the read ends.
struct Reading<'e>(&'e Entry);

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

impl Inner {
    fn tick(&self) -> u64 {
        self.ticks.fetch_add(1, Ordering::SeqCst)
    }

    fn stamp(&self) -> Stamp {
        Stamp { at: Instant::now(), tick: self.tick() }
    }

    fn entry(&self, scope: &Scope) -> Arc<Entry> {
        let mut entries = self.entries.lock();
        let new = || Arc::new(Entry::new(self.snapshot(scope)));
        Arc::clone(entries.entry(scope.clone()).or_insert_with(new))
    }

    fn known(&self, scope: &Scope) -> Option<Arc<Entry>> {
        self.entries.lock().get(scope).cloned()
    }

    fn entries_where(&self, wanted: impl Fn(&Scope) -> bool) -> Vec<(Scope, Arc<Entry>)> {
        let entries = self.entries.lock();
        let found = entries.iter().filter(|(scope, _)| wanted(scope));
        found.map(|(scope, entry)| (scope.clone(), Arc::clone(entry))).collect()
    }

    fn snapshot(&self, scope: &Scope) -> Option<Snapshot> {
        let directory = self.settings.directory.as_deref()?;
        let audience = if scope.members { "members" } else { "guests" };
        let base = self.client.base_url().as_str();
        let identity = [base, &scope.workspace, &scope.project.to_string(), &scope.path, audience].join("\n");
        Some(Snapshot::of(directory, identity))
    }

    /// One read: a build, or a refresh of what is there or on disk.
    async fn carry_out(
        self: &Arc<Self>,
        scope: &Scope,
        entry: &Arc<Entry>,
        key: V1Key,
        ctx: Context,
    ) -> Result<Found, Refusal> {
        let _reading = Reading(entry);
        let (base, swept) = entry.begin();
        entry.progress.begin();
        let allowed = self.settings.shared_work;
        let source = V1Source { client: self.client.clone(), key, path: Arc::clone(&scope.path), ctx, allowed };
        let base = match base {
            Some(index) => Some((index.verified.clone(), swept)),
            None => load(entry).await.map(|verified| (verified, Some(Instant::now()))),
        };
        let is_new = base.is_none();
        let refreshed = match base {
            Some((verified, swept)) => self.refresh(&source, entry, verified, swept).await?,
            None => {
                // A build is long and goes last; a refresh is as urgent as the one who waits for it.
                let ctx = source.ctx.clone().with_priority(Priority::Index);
                self.build(&V1Source { ctx, ..source }, entry).await?
            }
        };
        let Refreshed { verified, mark, swept } = refreshed;
        let found = entry.publish(verified, mark, swept, self.settings.max_bytes);
        self.make_room(scope);
        if is_new {
            self.save_now(entry);
        } else {
            self.save_soon(entry);
        }
        Ok(found)
    }

    async fn build(&self, source: &V1Source, entry: &Entry) -> Result<Refreshed<Stamp>, Refusal> {
        let (begun, wall) = (self.stamp(), SystemTime::now());
        let built = build(source, SIZES, &entry.progress).await?;
        let verified = Verified::new(built.rows, built.watermark);
        if built.whole && !built.paged {
            return Ok(Refreshed { verified, mark: begun, swept: true });
        }
        let refresh = Refresh {
            source,
            sizes: SIZES,
            progress: &entry.progress,
            patient: true,
            sweep: !built.whole,
            quiet_since: wall.checked_sub(SKEW).map(micros),
            clock: &Instant::now,
        };
        let refreshed = refresh.run(verified, || self.stamp(), || entry.gone()).await?;
        Ok(Refreshed { swept: true, ..refreshed })
    }

    async fn refresh(
        &self,
        source: &V1Source,
        entry: &Entry,
        base: Verified,
        swept: Option<Instant>,
    ) -> Result<Refreshed<Stamp>, Refusal> {
        let sweep = swept.is_none_or(|at| at.elapsed() >= self.settings.sweep);
        let progress = &entry.progress;
        let refresh = Refresh {
            source,
            sizes: SIZES,
            progress,
            patient: false,
            sweep,
            quiet_since: None,
            clock: &Instant::now,
        };
        refresh.run(base, || self.stamp(), || entry.gone()).await
    }

    /// Drops the indices used longest ago until the rest fits; the one of `scope` stays.
    fn make_room(&self, scope: &Scope) {
        let mut others = self.entries_where(|other| other != scope);
        let own = self.known(scope).map_or(0, |entry| entry.weight().0);
        let mut total = own + others.iter().map(|(_, entry)| entry.weight().0).sum::<usize>();
        others.sort_by_key(|(_, entry)| entry.weight().1);
        for (_, entry) in others {
            if total <= self.settings.max_bytes {
                return;
            }
            total -= entry.weight().0;
            if let Some(index) = entry.evict() {
                drop(tokio::task::spawn_blocking(move || entry.save_evicted(&index)));
            }
        }
    }

    fn save_now(&self, entry: &Arc<Entry>) {
        if entry.has_file() {
            let entry = Arc::clone(entry);
            drop(tokio::task::spawn_blocking(move || entry.save()));
        }
    }

    fn save_soon(&self, entry: &Arc<Entry>) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if !entry.has_file() || !entry.schedule() {
            return;
        }
        let entry = Arc::clone(entry);
        drop(runtime.spawn(async move {
            tokio::time::sleep(DEBOUNCE).await;
            entry.unschedule();
            let _ = tokio::task::spawn_blocking(move || entry.save()).await;
        }));
    }
}

async fn load(entry: &Arc<Entry>) -> Option<Verified> {
    let entry = Arc::clone(entry);
    entry.has_file().then(|| tokio::task::spawn_blocking(move || entry.load()))?.await.ok().flatten()
}

fn micros(time: SystemTime) -> Micros {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as Micros)
}

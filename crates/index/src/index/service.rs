//! All indices: the requests for them, the callers that wait, and the indices that are kept.
//!
//! A request gets an index that was read from v1 at most the freshness window ago and after the last change in
//! the project, by the rules of `fresh`. Local writes are applied to it at once, also while a read is under way.
//!
//! May use: `task`, `v2`, `context`, `fresh`, `refusal`, `units`, `v1`, `translate` (the typed item), this folder.

mod reading;
mod sharing;

use super::deployment::Deployment;
use super::entry::Entry;
use super::figures::{Figures, Reads};
use super::files::Files;
use super::known::{IndexInProgress, ReadResult, RowsFromV1};
use super::local_write::LocalWrite;
use super::pace::Pace;
use super::project_index::Index;
use super::read_failure::ReadFailure;
use super::v1_source::V1Source;
use crate::context::{Context, Priority};
use crate::fresh::{Changed, Changes, Fresh, Kept, Moment, Need, ReadEnded, Reading};
use crate::refusal::Refusal;
use crate::task::spawn_on;
use crate::translate::work_items::Item;
use crate::v1::{Client, V1Key};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Part of a deadline that is reserved for the response.
const RESERVE: Duration = Duration::from_millis(500);
/// Number of times a request asks when the read it waited for failed because of another client's key.
const TIMES: usize = 3;
/// Time from a change to the write of the file.
const DEBOUNCE: Duration = Duration::from_secs(30);

/// Largest approximate size of one item in bytes.
const EACH: usize = 256;

/// Settings of the indices.
#[derive(Debug, Clone)]
pub struct IndexSettings {
    /// Age up to which an index is used without asking v1.
    pub freshness: Duration,
    /// Interval between two comparisons of all ids.
    pub sweep: Duration,
    /// Bytes held by all indices together.
    pub max_bytes: usize,
    /// Folder where indices are kept on disk; without it they are not kept.
    pub directory: Option<PathBuf>,
    /// Longest time for one v1 call of shared work.
    pub shared_work: Duration,
}

/// A list of work items, and the audience to which v1 shows the same rows of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Scope {
    /// Workspace slug.
    pub workspace: Arc<str>,
    /// Project.
    pub project: Uuid,
    /// v1 path of the list below `/api/v1/`, with its slash.
    pub path: Arc<str>,
    /// Role class: true above guest.
    pub members: bool,
}

impl Scope {
    /// Returns the changes that invalidate this list.
    fn voids(&self) -> [Changed; 3] {
        let workspace = Changed::Workspace((&*self.workspace).into());
        [workspace, Changed::Project(self.project), Changed::WorkItems(self.project)]
    }
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
    indexes: Fresh<Scope, Arc<Index>, ReadFailure>,
    changes: Changes,
    /// Places for pages in flight, shared by all builds and sweeps.
    pace: Pace,
    /// Storage that all gateway processes share.
    deployment: OnceLock<Arc<dyn Deployment>>,
    reads: Reads,
}

impl Indexes {
    /// Creates the service without an index. `changes` invalidate the rows that are read.
    pub fn new(client: Client, settings: IndexSettings, changes: &Changes) -> Self {
        let weigh = |_: &Scope, index: &Arc<Index>| if index.is_scan() { u64::MAX } else { index.bytes() as u64 };
        let indexes = Fresh::new(changes, settings.max_bytes as u64).weighing(weigh);
        let (changes, deployment) = (changes.clone(), OnceLock::new());
        let (entries, pace, reads) = Default::default();
        Self { inner: Arc::new(Inner { client, settings, entries, indexes, changes, pace, deployment, reads }) }
    }

    /// Shares the indices with all processes that use `deployment`, so that each index is built once.
    #[must_use]
    pub fn shared_in(self, deployment: Arc<dyn Deployment>) -> Self {
        let _ = self.inner.deployment.set(deployment);
        self
    }

    /// Returns the index of `scope`, at most the freshness window old: one in memory, or one built or refreshed now for
    /// all callers that ask. The caller has proven that v1 shows it the rows of this scope.
    ///
    /// # Errors
    /// [`Refusal::IndexBuilding`] as soon as the read is known to outlast the deadline (the read goes on), else the
    /// error of v1.
    pub async fn fresh(&self, scope: &Scope, key: &V1Key, ctx: &Context) -> Result<Arc<Index>, Refusal> {
        self.within(self.inner.settings.freshness, scope, key, ctx).await
    }

    /// Returns the index of `scope` from a read that begins after now.
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
        entry.note_request();
        for _ in 0..TIMES {
            let need = self.inner.need(scope, age);
            let deadline = tokio::time::Instant::now() + ctx.remaining().saturating_sub(RESERVE);
            let read = |reading| Arc::clone(&self.inner).read(reading, scope, &entry, (key, ctx), need);
            let outcome = tokio::select! {
                biased;
                outcome = self.inner.indexes.get(scope, need, read) => outcome,
                never = self.take_over(&entry, key, ctx) => match never {},
                () = entry.progress.will_outlast(deadline) => break,
                () = tokio::time::sleep_until(deadline) => break,
            };
            match outcome {
                Ok(kept) => return Ok(kept.value),
                // It says nothing about this key.
                Err(trouble) if trouble.concerns_another_key(key.id()) => {}
                Err(trouble) => return Err(trouble.refusal),
            }
        }
        Err(entry.progress.refusal())
    }

    /// Ends another key's read that v1's quota delays, when this key has quota to continue it now. The callers that
    /// wait for the read then begin where it stopped.
    async fn take_over(&self, entry: &Entry, key: &V1Key, ctx: &Context) -> Infallible {
        let has_pages = entry.progress.held().await;
        // The priority that its next page will have.
        let priority = if has_pages { Priority::Index } else { ctx.priority };
        let has_room = self.inner.client.budget.shortage(key.id(), priority).wait.is_zero();
        if has_room && entry.is_read_by_another(key.id()) {
            entry.progress.give_way();
        }
        std::future::pending().await
    }

    /// Returns the scopes that are `wanted` and whose index was requested within the last `within`.
    pub fn in_use(&self, within: Duration, wanted: impl Fn(&Scope) -> bool) -> Vec<Scope> {
        let known = self.inner.entries_where(wanted).into_iter();
        let known = known.filter(|(scope, entry)| self.inner.any(scope).is_some() && entry.is_in_use(within));
        known.map(|(scope, _)| scope).collect()
    }

    /// Returns figures of the kept indices and of their reads.
    pub fn figures(&self) -> Figures {
        let inner = &self.inner;
        let kept = inner.entries_where(|_| true).into_iter().filter_map(|(scope, _)| inner.indexes.any(&scope));
        Figures::of(kept.map(|kept| (kept.value, kept.began.at)), &inner.reads)
    }

    /// Returns the settings.
    pub fn settings(&self) -> &IndexSettings {
        &self.inner.settings
    }

    /// Makes sure that an index younger than `age` exists, however long it takes. v1 must have shown its rows to `key`.
    pub async fn renew(&self, age: Duration, scope: &Scope, key: &V1Key, ctx: &Context) -> Result<(), Refusal> {
        let (entry, need) = (self.inner.entry(scope), self.inner.need(scope, age));
        let read = |reading| Arc::clone(&self.inner).read(reading, scope, &entry, (key, ctx), need);
        self.inner.indexes.get(scope, need, read).await.map(|_| ()).map_err(|trouble| trouble.refusal)
    }

    /// Applies the reads that other processes have made since, however young the index is. Asks v1 where there are
    /// none. v1 must have shown its rows to `key`.
    pub async fn follow(&self, scope: &Scope, key: &V1Key, ctx: &Context) -> Result<(), Refusal> {
        let (entry, now) = (self.inner.entry(scope), self.inner.need(scope, Duration::ZERO));
        let need = self.inner.need(scope, self.inner.settings.freshness);
        let read = |reading| Arc::clone(&self.inner).read(reading, scope, &entry, (key, ctx), need);
        self.inner.indexes.get(scope, now, read).await.map(|_| ()).map_err(|trouble| trouble.refusal)
    }

    /// Builds the index of `scope` when there is none. v1 must have shown its rows to `key`.
    pub async fn begin(&self, scope: &Scope, key: &V1Key, ctx: &Context) -> Result<(), Refusal> {
        if self.is_built(scope) {
            return Ok(());
        }
        self.renew(Duration::MAX, scope, key, ctx).await
    }

    /// Checks whether the index of a project with `items` items fits into memory, beside a few others.
    pub fn has_room_for(&self, items: usize) -> bool {
        items.saturating_mul(EACH) <= self.inner.settings.max_bytes / 4
    }

    /// Returns the index in memory, if it is fresh enough to answer without asking v1.
    pub fn peek(&self, scope: &Scope) -> Option<Arc<Index>> {
        let need = self.inner.need(scope, self.inner.settings.freshness);
        self.inner.indexes.kept(scope, &need).map(|kept| kept.value)
    }

    /// Returns the index as it is, if it is younger than `age` and nothing changed in the project since. Counts as a
    /// request.
    pub fn kept_within(&self, scope: &Scope, age: Duration) -> Option<Kept<Arc<Index>>> {
        self.inner.known(scope)?.note_request();
        self.inner.indexes.kept(scope, &self.inner.need(scope, age))
    }

    /// Checks whether the index is fresh, or is being built or brought up to date.
    pub fn is_fresh_soon(&self, scope: &Scope) -> bool {
        let need = self.inner.need(scope, self.inner.settings.freshness);
        self.inner.indexes.is_under_way(scope, &need) || self.peek(scope).is_some()
    }

    /// Checks whether indices are shared, so that other processes may have read already what this process needs.
    pub fn is_shared(&self) -> bool {
        self.inner.deployment.get().is_some()
    }

    /// Checks whether an index of any age exists. Lists should then use it instead of direct pages.
    pub fn is_built(&self, scope: &Scope) -> bool {
        self.inner.any(scope).is_some() || self.inner.files(scope).is_some_and(|files| files.index.exists())
    }

    /// Returns the index in memory, of any age.
    pub fn of_any_age(&self, scope: &Scope) -> Option<Arc<Index>> {
        self.inner.any(scope)
    }

    /// Returns the kept index of a project as its members see it, of any age, without asking v1; none when none is
    /// kept.
    pub fn of_project(&self, project: Uuid) -> Option<Arc<Index>> {
        let entries = self.inner.entries_where(|scope| scope.project == project && scope.members);
        entries.iter().find_map(|(scope, _)| self.inner.any(scope))
    }

    /// Notes that a local write left this item. The next request sees it, also when a read is under way.
    pub fn note_change(&self, project: Uuid, item: &Item) {
        self.note_local_write(project, LocalWrite::of(item));
    }

    /// Notes that a local write took this item out of the lists.
    pub fn note_removal(&self, project: Uuid, id: Uuid) {
        self.note_local_write(project, LocalWrite::Gone(id));
    }

    fn note_local_write(&self, project: Uuid, local: LocalWrite) {
        let at = self.inner.deployment.get().map(|_| self.inner.changes.now().at);
        for (scope, entry) in self.inner.entries_where(|scope| scope.project == project) {
            entry.note_local_write(&local, at);
            let local = local.clone();
            let carried = self.inner.indexes.amend(&scope, move |index| Index::amend(index, &local));
            if carried {
                entry.mark_unsaved();
                self.inner.save_in(DEBOUNCE, &scope, &entry);
            }
        }
    }
}

/// Guard that ends the read in its entry, and with it the noting of local writes, however the read ends.
struct ReadInProgress<'e>(&'e Entry);

impl Drop for ReadInProgress<'_> {
    fn drop(&mut self) {
        self.0.end_read();
    }
}

impl Inner {
    fn need(&self, scope: &Scope, age: Duration) -> Need {
        self.changes.need(&scope.voids(), age)
    }

    /// Returns the index in memory, of any age.
    fn any(&self, scope: &Scope) -> Option<Arc<Index>> {
        self.indexes.any(scope).map(|kept| kept.value)
    }

    fn entry(&self, scope: &Scope) -> Arc<Entry> {
        let mut entries = self.entries.lock();
        let new = || Arc::new(Entry::new(self.files(scope)));
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

    fn files(&self, scope: &Scope) -> Option<Files> {
        let directory = self.settings.directory.as_deref()?;
        Some(Files::of(directory, self.identity(scope)))
    }

    /// Returns the identity of an index: the deployment, the list and the audience.
    fn identity(&self, scope: &Scope) -> String {
        let audience = if scope.members { "members" } else { "guests" };
        let base = self.client.base_url.as_str();
        [base, &scope.workspace, &scope.project.to_string(), &scope.path, audience].join("\n")
    }

    /// One read, as a future that does not depend on the request.
    fn read(
        self: Arc<Self>,
        reading: Reading<Scope, Arc<Index>, ReadFailure>,
        scope: &Scope,
        entry: &Arc<Entry>,
        (key, ctx): (&V1Key, &Context),
        need: Need,
    ) -> impl Future<Output = ()> + Send + 'static {
        let (entry, scope, key) = (Arc::clone(entry), scope.clone(), key.clone());
        let ctx = ctx.for_shared_work(self.settings.shared_work).for_all();
        async move {
            let id = key.id();
            match self.carry_out(&scope, &entry, (key, ctx), need).await {
                Ok((index, mark)) => {
                    // Marked before the waiting callers get the result: a gateway that is closed then finds a file to
                    // write.
                    let differs = |before: Arc<Index>| before.verified.differs(&index.verified);
                    if !index.is_scan() && self.any(&scope).is_none_or(differs) {
                        entry.mark_unsaved();
                    }
                    let read = Arc::new(index);
                    let landed = reading.land(Arc::clone(&read), mark);
                    // When local writes were carried over, the kept index is newer than what was read.
                    if !read.is_scan() && landed.now.value.verified.differs(&read.verified) {
                        entry.mark_unsaved();
                    }
                    self.landed(&scope, &entry, landed);
                }
                Err(refusal) => reading.fail(ReadFailure { refusal, key: Some(id) }),
            }
        }
    }

    /// Builds the index, or refreshes the one in memory or on disk.
    async fn carry_out(
        &self,
        scope: &Scope,
        entry: &Arc<Entry>,
        (key, ctx): (V1Key, Context),
        need: Need,
    ) -> Result<(Index, Moment), Refusal> {
        let _noting = ReadInProgress(entry);
        let swept = entry.begin_read(key.id());
        let allowed = self.settings.shared_work;
        let (client, path, first) = (self.client.clone(), Arc::clone(&scope.path), ctx.priority);
        let source = V1Source { client, key, path, ctx, first, allowed };
        self.drop_old_walks(&source);
        let known = match self.indexes.any(scope) {
            Some(kept) => Some(self.known_as(kept, swept)),
            None => with_files(entry, Entry::load)
                .await
                .map(|verified| IndexInProgress::found(verified, self.changes.now(), swept)),
        };
        let got = match known {
            Some(known) => self.up_to_date(self.shared(scope), known, (&source, entry), need).await?,
            None => self.first(scope, entry, source, need, swept).await?,
        };
        let ReadResult { verified, mark, swept, shown } = got;
        if let Some(swept) = swept {
            entry.note_sweep(swept);
        }
        let index = Index { shown, ..Index::new(verified) };
        let scan = index.bytes() > self.settings.max_bytes;
        Ok((Index { scan, ..index }, mark))
    }

    /// Describes an index in memory, whose ids were all compared at `swept`.
    fn known_as(&self, kept: Kept<Arc<Index>>, swept: Option<Instant>) -> IndexInProgress {
        let (verified, now) = (kept.value.verified.clone(), self.changes.now());
        let shown = kept.value.shown.clone();
        let shown = shown.unwrap_or_else(|| RowsFromV1 { verified: verified.clone(), number: None, ended: now.at });
        IndexInProgress::kept(verified, shown, kept.began, swept)
    }

    /// Schedules the writes of a new index, and writes the indices that were evicted for it.
    fn landed(self: Arc<Self>, scope: &Scope, entry: &Arc<Entry>, landed: ReadEnded<Scope, Arc<Index>>) {
        for (scope, index) in landed.evicted {
            if let Some(entry) = self.known(&scope).filter(|entry| entry.take_unsaved()) {
                let inner = Arc::clone(&self);
                drop(tokio::task::spawn_blocking(move || {
                    entry.save_evicted(&index, || inner.any(&scope).is_some())
                }));
            }
        }
        entry.drop_local_writes_before(landed.now.began.at);
        if landed.now.value.is_scan() {
            return;
        }
        Arc::clone(&self).share_later(scope, entry);
        // An index that took long to build is saved at once.
        self.save_in(if landed.before.is_none() { Duration::ZERO } else { DEBOUNCE }, scope, entry);
    }

    /// Schedules a write of the file after `time`.
    fn save_in(self: &Arc<Self>, time: Duration, scope: &Scope, entry: &Arc<Entry>) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if !entry.has_file() || !entry.schedule() {
            return;
        }
        let (inner, entry, scope) = (Arc::clone(self), Arc::clone(entry), scope.clone());
        drop(spawn_on(&runtime, async move {
            tokio::time::sleep(time).await;
            entry.unschedule();
            let _ = tokio::task::spawn_blocking(move || entry.save(|| inner.any(&scope))).await;
        }));
    }
}

/// Runs `work` on the files in a blocking task and returns its result.
async fn with_files<T: Send + 'static>(
    entry: &Arc<Entry>,
    work: impl FnOnce(&Entry) -> Option<T> + Send + 'static,
) -> Option<T> {
    let entry = Arc::clone(entry);
    tokio::task::spawn_blocking(move || work(&entry)).await.ok().flatten()
}

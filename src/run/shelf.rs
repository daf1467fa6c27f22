//! What v1 has shown lately, kept for those v1 shows the same.
//!
//! A shelf holds one kind of thing (a collection, a roster) per place and audience. The audience is a role
//! class of a project; whoever asks has proven their own class with their own project card before (rulings,
//! "Lists, index, cursors"). A thing is served while it is younger than the time to live and nothing was
//! written at its place since its read began. Concurrent readers share one read, which runs as its own task.
//!
//! Own writes are serialised per place, for the sake of what is kept here: two at once could not both be carried over. What
//! v1 holds is guarded by `turns`, which every write has before it comes here, among all processes. What a write changes is carried into the kept thing when nothing
//! else happened meanwhile; otherwise the thing is dropped. May use: `coalesce`, `refusal`.

use crate::coalesce::Coalesce;
use crate::refusal::Refusal;
use moka::sync::Cache;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, OwnedMutexGuard};
use uuid::Uuid;

/// Role class that v1 shows the same rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Audience {
    /// Role 15 and above.
    Members,
    /// Guests among themselves.
    Guests,
}

/// Where a thing lives: a v1 path below a project (nil outside of projects).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    /// Workspace slug.
    pub workspace: Arc<str>,
    /// Project the path lies in.
    pub project: Uuid,
    /// v1 path, variables filled in.
    pub path: Arc<str>,
}

/// Capacity in things; each is one complete collection.
const CAPACITY: u64 = 10_000;
/// How long an invalidation is remembered; far longer than anything is served.
const REMEMBERED: Duration = Duration::from_secs(86_400);

struct Kept<T> {
    thing: Arc<T>,
    read_at: Instant,
    stamp: u64,
}

impl<T> Clone for Kept<T> {
    fn clone(&self) -> Self {
        Self { thing: Arc::clone(&self.thing), read_at: self.read_at, stamp: self.stamp }
    }
}

/// When something may last have changed, by what is known of where.
pub struct Changes {
    clock: AtomicU64,
    places: Cache<Arc<str>, u64>,
    projects: Cache<Uuid, u64>,
    workspaces: Cache<Arc<str>, u64>,
    locks: Cache<Arc<str>, Arc<Mutex<()>>>,
}

impl Default for Changes {
    fn default() -> Self {
        Self {
            clock: AtomicU64::new(1),
            places: Cache::builder().max_capacity(100_000).time_to_live(REMEMBERED).build(),
            projects: Cache::builder().max_capacity(100_000).time_to_live(REMEMBERED).build(),
            workspaces: Cache::builder().max_capacity(100_000).time_to_live(REMEMBERED).build(),
            locks: Cache::builder().max_capacity(100_000).time_to_idle(REMEMBERED).build(),
        }
    }
}

impl Changes {
    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// Something at this one place may have changed.
    pub fn at(&self, place: &Place) -> u64 {
        let now = self.tick();
        self.places.insert(Arc::clone(&place.path), now);
        now
    }

    /// Anything in this project may have changed.
    pub fn in_project(&self, project: Uuid) {
        self.projects.insert(project, self.tick());
    }

    /// Anything in this workspace may have changed.
    pub fn in_workspace(&self, workspace: &str) {
        self.workspaces.insert(workspace.into(), self.tick());
    }

    fn last(&self, place: &Place) -> u64 {
        let at = self.places.get(&place.path).unwrap_or(0);
        let within = self.projects.get(&place.project).unwrap_or(0);
        at.max(within).max(self.workspaces.get(&place.workspace).unwrap_or(0))
    }

    async fn lock(&self, place: &Place) -> OwnedMutexGuard<()> {
        let lock = self.locks.get_with(Arc::clone(&place.path), Arc::default);
        lock.lock_owned().await
    }
}

/// Things kept of one kind.
pub struct Shelf<T> {
    kept: Cache<(Place, Audience), Kept<T>>,
    reads: Coalesce<(Place, Audience, u64), (Arc<T>, Instant)>,
    changes: Arc<Changes>,
    time_to_live: Duration,
}

/// A thing and whether v1 was asked for it just now.
pub struct Loaded<T> {
    /// The thing.
    pub thing: Arc<T>,
    /// When its read began.
    pub read_at: Instant,
}

impl<T> Loaded<T> {
    /// Whether the thing was read after `moment`.
    pub fn is_newer_than(&self, moment: Instant) -> bool {
        self.read_at >= moment
    }
}

impl<T: Send + Sync + 'static> Shelf<T> {
    /// An empty shelf that serves things younger than `time_to_live`.
    pub fn new(time_to_live: Duration, changes: Arc<Changes>) -> Self {
        Self { kept: Cache::new(CAPACITY), reads: Coalesce::default(), changes, time_to_live }
    }

    fn valid(&self, place: &Place, audience: Audience) -> Option<Kept<T>> {
        self.unvoided(place, audience).filter(|kept| kept.read_at.elapsed() < self.time_to_live)
    }

    /// What is kept, however old, when nothing was written at its place since.
    fn unvoided(&self, place: &Place, audience: Audience) -> Option<Kept<T>> {
        let kept = self.kept.get(&(place.clone(), audience))?;
        (kept.stamp > self.changes.last(place)).then_some(kept)
    }

    /// The thing kept for `place`, when it is younger than `age` and nothing was written there since.
    pub fn kept_within(&self, place: &Place, audience: Audience, age: Duration) -> Option<Loaded<T>> {
        let kept = self.unvoided(place, audience).filter(|kept| kept.read_at.elapsed() < age)?;
        Some(Loaded { thing: kept.thing, read_at: kept.read_at })
    }

    /// The thing at `place`, kept or read with `read`.
    ///
    /// # Errors
    /// What the read answers.
    pub async fn load<F>(
        &self,
        place: &Place,
        audience: Audience,
        read: impl FnOnce() -> F,
    ) -> Result<Loaded<T>, Refusal>
    where
        F: Future<Output = Result<T, Refusal>> + Send + 'static,
    {
        match self.valid(place, audience) {
            Some(kept) => Ok(Loaded { thing: kept.thing, read_at: kept.read_at }),
            None => self.share(place, audience, None, read).await,
        }
    }

    /// The thing at `place` as a read shows it that began after `asked`. Those who ask at the same time share
    /// two reads at most: one under way when they asked, which is too old for them, and the next.
    ///
    /// # Errors
    /// What the read answers.
    pub async fn load_since<F>(
        &self,
        place: &Place,
        audience: Audience,
        asked: Instant,
        read: impl Fn() -> F,
    ) -> Result<Loaded<T>, Refusal>
    where
        F: Future<Output = Result<T, Refusal>> + Send + 'static,
    {
        let loaded = self.share(place, audience, Some(asked), &read).await?;
        if loaded.is_newer_than(asked) {
            return Ok(loaded);
        }
        self.share(place, audience, Some(asked), &read).await
    }

    /// Joins the read under way or begins one, unless another has just ended that will do.
    async fn share<F>(
        &self,
        place: &Place,
        audience: Audience,
        asked: Option<Instant>,
        read: impl FnOnce() -> F,
    ) -> Result<Loaded<T>, Refusal>
    where
        F: Future<Output = Result<T, Refusal>> + Send + 'static,
    {
        let last = self.changes.last(place);
        let work = || {
            // A read that ended since the caller looked has put its thing here.
            let ended = self.valid(place, audience).filter(|kept| asked.is_none_or(|asked| kept.read_at >= asked));
            let read = ended.is_none().then(read);
            let (begun, stamp) = (Instant::now(), self.changes.tick());
            let (kept, changes, place) = (self.kept.clone(), Arc::clone(&self.changes), place.clone());
            async move {
                let Some(read) = read else {
                    return ended
                        .map(|kept| (kept.thing, kept.read_at))
                        .ok_or_else(|| Refusal::internal("no read"));
                };
                let thing = Arc::new(read.await?);
                if stamp > changes.last(&place) {
                    let entry = Kept { thing: Arc::clone(&thing), read_at: begun, stamp };
                    kept.insert((place, audience), entry);
                }
                Ok((thing, begun))
            }
        };
        let (thing, read_at) = self.reads.run((place.clone(), audience, last), work).await?;
        Ok(Loaded { thing, read_at })
    }

    /// Begins a write at `place`: waits for other writes there, and from now on nothing read before counts.
    /// `touched` tells, when the write is given up, whether v1 may have carried out any of it.
    pub async fn begin_write(&self, place: &Place, audience: Audience, touched: Arc<AtomicBool>) -> Write<'_, T> {
        let guard = self.changes.lock(place).await;
        let (before, older) = (self.valid(place, audience), self.unvoided(place, audience));
        let begun = self.changes.at(place);
        let place = place.clone();
        Write { shelf: self, place, audience, before, older, begun, touched, done: false, _guard: guard }
    }
}

/// A write under way at a place.
pub struct Write<'s, T: Send + Sync + 'static> {
    shelf: &'s Shelf<T>,
    place: Place,
    audience: Audience,
    before: Option<Kept<T>>,
    /// What was kept when the write began, too old to be used as long as v1 answers.
    older: Option<Kept<T>>,
    begun: u64,
    touched: Arc<AtomicBool>,
    done: bool,
    _guard: OwnedMutexGuard<()>,
}

impl<T: Send + Sync + 'static> Write<'_, T> {
    /// What was kept when the write began.
    pub fn before(&self) -> Option<Loaded<T>> {
        self.before.as_ref().map(|kept| Loaded { thing: Arc::clone(&kept.thing), read_at: kept.read_at })
    }

    /// Uses `thing`, read during this write, as the basis of [`Write::finish`].
    pub fn found(&mut self, loaded: &Loaded<T>) {
        self.before = Some(Kept { thing: Arc::clone(&loaded.thing), read_at: loaded.read_at, stamp: self.begun });
    }

    /// Takes a part of the write that has happened into what is carried over.
    pub fn carry(&mut self, change: impl FnOnce(&T) -> T) {
        if let Some(before) = self.before.as_mut().or(self.older.as_mut()) {
            before.thing = Arc::new(change(&before.thing));
        }
    }

    /// Ends the write; `change` makes the thing after the write from the one before.
    pub fn finish(mut self, change: impl FnOnce(&T) -> T) {
        self.done = true;
        self.put_back(|before| Arc::new(change(before)));
    }

    fn put_back(&mut self, change: impl FnOnce(&Arc<T>) -> Arc<T>) {
        let undisturbed = self.shelf.changes.last(&self.place) == self.begun;
        self.shelf.changes.at(&self.place);
        let before = self.before.take().or_else(|| self.older.take());
        if let Some(before) = before.filter(|_| undisturbed) {
            let entry =
                Kept { thing: change(&before.thing), read_at: before.read_at, stamp: self.shelf.changes.tick() };
            self.shelf.kept.insert((self.place.clone(), self.audience), entry);
        }
    }
}

impl<T: Send + Sync + 'static> Drop for Write<'_, T> {
    /// A write given up: what was kept stays when v1 certainly carried out nothing of it.
    fn drop(&mut self) {
        if self.done {
            return;
        }
        if self.touched.load(Ordering::SeqCst) {
            self.shelf.changes.at(&self.place);
        } else {
            self.put_back(Arc::clone);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Place {
        Place { workspace: "acme".into(), project: Uuid::nil(), path: "states/".into() }
    }

    fn shelf() -> Shelf<u32> {
        Shelf::new(Duration::from_secs(60), Arc::default())
    }

    async fn write(shelf: &Shelf<u32>, touched: bool) -> Write<'_, u32> {
        shelf.begin_write(&place(), Audience::Members, Arc::new(AtomicBool::new(touched))).await
    }

    async fn read(shelf: &Shelf<u32>, value: u32) -> u32 {
        *shelf.load(&place(), Audience::Members, || async move { Ok(value) }).await.unwrap().thing
    }

    #[tokio::test]
    async fn a_thing_is_served_until_something_changes() {
        let shelf = shelf();
        assert_eq!(read(&shelf, 1).await, 1);
        assert_eq!(read(&shelf, 2).await, 1);
        shelf.changes.in_project(Uuid::nil());
        assert_eq!(read(&shelf, 3).await, 3);
        shelf.changes.in_workspace("acme");
        assert_eq!(read(&shelf, 4).await, 4);
        shelf.changes.in_workspace("other");
        assert_eq!(read(&shelf, 5).await, 4);
    }

    #[tokio::test]
    async fn a_thing_too_old_to_serve_is_kept_for_a_time_of_shortage() {
        let shelf = Shelf::new(Duration::ZERO, Arc::<Changes>::default());
        let kept = |age| shelf.kept_within(&place(), Audience::Members, age).map(|loaded| *loaded.thing);
        assert_eq!((read(&shelf, 1).await, read(&shelf, 2).await), (1, 2), "never served");
        assert_eq!(kept(Duration::from_secs(60)), Some(2));
        assert_eq!(kept(Duration::ZERO), None);
        shelf.changes.in_project(Uuid::nil());
        assert_eq!(kept(Duration::from_secs(60)), None, "something was written since");
    }

    #[tokio::test]
    async fn a_thing_too_old_to_serve_outlasts_writes_that_are_carried_over_or_never_happened() {
        let shelf = Shelf::new(Duration::ZERO, Arc::<Changes>::default());
        let kept = || {
            let kept = shelf.kept_within(&place(), Audience::Members, Duration::from_secs(60));
            kept.map(|loaded| (*loaded.thing, loaded.read_at))
        };
        read(&shelf, 1).await;
        let (_, read_at) = kept().unwrap();
        drop(write(&shelf, false).await);
        assert_eq!(kept(), Some((1, read_at)), "v1 carried out nothing");
        let begun = write(&shelf, false).await;
        assert!(begun.before().is_none(), "the write itself does not rely on it");
        begun.finish(|n| n + 10);
        assert_eq!(kept(), Some((11, read_at)), "no younger than it was");
        drop(write(&shelf, true).await);
        assert_eq!(kept(), None);
    }

    #[tokio::test]
    async fn guests_do_not_get_what_members_were_shown() {
        let shelf = shelf();
        assert_eq!(read(&shelf, 1).await, 1);
        let guests = shelf.load(&place(), Audience::Guests, || async { Ok(9) }).await.unwrap();
        assert_eq!(*guests.thing, 9);
    }

    #[tokio::test]
    async fn a_write_is_carried_over_unless_something_else_happened() {
        let shelf = shelf();
        read(&shelf, 1).await;
        write(&shelf, false).await.finish(|n| n + 10);
        assert_eq!(read(&shelf, 2).await, 11);
        let disturbed = write(&shelf, false).await;
        shelf.changes.in_project(Uuid::nil());
        disturbed.finish(|n| n + 10);
        assert_eq!(read(&shelf, 3).await, 3);
        drop(write(&shelf, false).await);
        assert_eq!(read(&shelf, 4).await, 3, "v1 carried out nothing");
        drop(write(&shelf, true).await);
        assert_eq!(read(&shelf, 5).await, 5);
    }

    #[tokio::test]
    async fn what_must_be_newer_is_read_once_for_all_who_ask() {
        let (shelf, reads) = (Arc::new(shelf()), Arc::new(AtomicU64::new(0)));
        read(&shelf, 7).await;
        let asking: Vec<_> = (0..100)
            .map(|_| {
                let (shelf, reads) = (Arc::clone(&shelf), Arc::clone(&reads));
                tokio::spawn(async move {
                    let slow = || {
                        let reads = Arc::clone(&reads);
                        async move {
                            tokio::time::sleep(Duration::from_millis(20)).await;
                            Ok(u32::try_from(reads.fetch_add(1, Ordering::SeqCst)).unwrap())
                        }
                    };
                    let asked = Instant::now();
                    let loaded = shelf.load_since(&place(), Audience::Members, asked, slow).await.unwrap();
                    assert!(loaded.is_newer_than(asked));
                })
            })
            .collect();
        for one in asking {
            one.await.unwrap();
        }
        let reads = reads.load(Ordering::SeqCst);
        assert!(reads < 10, "{reads} reads");
        assert_eq!(u64::from(read(&shelf, 99).await), reads - 1, "the newest is kept");
    }

    #[tokio::test]
    async fn a_read_that_a_write_overtook_is_not_kept() {
        let shelf = Arc::new(shelf());
        let slow = {
            let shelf = Arc::clone(&shelf);
            tokio::spawn(async move {
                let late = || async {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    Ok(1)
                };
                *shelf.load(&place(), Audience::Members, late).await.unwrap().thing
            })
        };
        tokio::time::sleep(Duration::from_millis(10)).await;
        drop(write(&shelf, true).await);
        assert_eq!(slow.await.unwrap(), 1);
        assert_eq!(read(&shelf, 2).await, 2);
    }
}

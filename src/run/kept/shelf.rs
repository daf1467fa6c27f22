//! Caches of recent v1 data, for callers to whom v1 shows the same, by the rules of `fresh`.
//!
//! A shelf holds one kind of thing (a collection, a roster) per place and audience. The audience is a role
//! class of a project. The caller's own project card has already proven the caller's class.
//!
//! Own writes are serialised per place, for the sake of the cache: two at once could not both be carried over.
//! The records at v1 are protected by `turns`, which every write takes before it comes here, across all processes.
//! The change of a write is carried into the cached thing when nothing else happened meanwhile; otherwise the thing is
//! dropped.
//!
//! May use: `fresh`, `index` (failures of reads), `refusal`, `translate` (people), `v1` (keys), this folder.

use super::writers::{Turn, Writers};
use crate::fresh::{Changed, Changes, Figures, Fresh, Kept, Moment, Reading};
use crate::index::ReadFailure;
use crate::refusal::Refusal;
use crate::translate::members::Person;
use crate::v1::KeyId;
use std::collections::HashSet;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use uuid::Uuid;

/// Role class to which v1 shows the same rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Audience {
    /// Role 15 and above.
    Members,
    /// Guests among themselves.
    Guests,
}

/// Address of a thing: a v1 path below a project (nil outside of projects).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    /// Workspace slug.
    pub workspace: Arc<str>,
    /// Project of the path.
    pub project: Uuid,
    /// v1 path, variables filled in.
    pub path: Arc<str>,
}

impl Place {
    /// Returns the changes that invalidate a thing at this place, except for writes to the place itself.
    fn around(&self) -> [Changed; 2] {
        [Changed::Project(self.project), Changed::Workspace((&*self.workspace).into())]
    }

    /// Returns the change of the thing at this place.
    pub(in crate::run) fn itself(&self) -> Changed {
        Changed::Collection((&*self.path).into())
    }

    fn voids(&self) -> [Changed; 3] {
        let [project, workspace] = self.around();
        [self.itself(), project, workspace]
    }
}

/// A thing that can be kept on a shelf.
pub trait Shelved: Send + Sync + 'static {
    /// Most bytes of all cached things of the kind, approximately.
    const MOST: u64;

    /// Returns the approximate size of the thing in bytes.
    fn bytes(&self) -> usize;

    /// Checks whether the thing is valid for callers with `key`; otherwise they must read it themselves.
    fn counts_for(&self, key: KeyId) -> bool {
        let _ = key;
        true
    }
}

/// Approximate size of an entry beside the thing and its path.
const ENTRY: usize = 400;

type Key = (Place, Audience);

impl Shelved for HashSet<Uuid> {
    const MOST: u64 = 32 * 1024 * 1024;

    fn bytes(&self) -> usize {
        // An id and its place in the table, of which up to half is empty.
        self.capacity() * 20
    }
}

impl Shelved for Vec<Person> {
    const MOST: u64 = 16 * 1024 * 1024;

    fn bytes(&self) -> usize {
        self.iter().map(Person::bytes).sum()
    }
}

/// Cached things of one kind.
pub struct Shelf<T> {
    things: Fresh<Key, Arc<T>, ReadFailure>,
    writers: Writers,
    time_to_live: Duration,
}

impl<T: Shelved> Shelf<T> {
    /// Creates an empty shelf that serves things younger than `time_to_live`, and in need those younger than `longest`.
    pub fn new(time_to_live: Duration, longest: Duration, changes: &Changes) -> Self {
        Self { things: Self::nothing(longest, changes), writers: Writers::new(), time_to_live }
    }

    fn nothing(longest: Duration, changes: &Changes) -> Fresh<Key, Arc<T>, ReadFailure> {
        let weigh = |(place, _): &Key, thing: &Arc<T>| (thing.bytes() + place.path.len() + ENTRY) as u64;
        Fresh::new(changes, T::MOST).weighing(weigh).useless_after(longest)
    }

    /// Returns another shelf with these ages for the same writers; it has the same content when `keep` is set. A write
    /// through one of them invalidates the cached things of the other.
    pub fn with_ages(&self, time_to_live: Duration, longest: Duration, keep: bool) -> Self {
        let things = match keep {
            true => self.things.clone().useless_after(longest),
            false => Self::nothing(longest, self.things.changes()),
        };
        Self { things, writers: self.writers.clone(), time_to_live }
    }

    /// Returns the number of cached things, and how often they were used.
    pub fn figures(&self) -> Figures {
        self.things.figures()
    }

    /// Invalidates all things of this project that were read before.
    pub fn void_in(&self, project: Uuid) {
        for (place, _) in self.things.keys(|(place, _)| place.project == project) {
            self.things.changes().tell(place.itself());
        }
    }

    /// Returns the thing cached for `place`, if it is younger than `age` and nothing was written there since.
    pub fn kept_within(&self, place: &Place, audience: Audience, age: Duration) -> Option<Kept<Arc<T>>> {
        self.things.kept(&(place.clone(), audience), &self.things.changes().need(&place.voids(), age))
    }

    /// Checks whether a read of the thing at `place` is under way whose result will be younger than `age`.
    pub fn is_read(&self, place: &Place, audience: Audience, age: Duration) -> bool {
        self.things.is_under_way(&(place.clone(), audience), &self.things.changes().need(&place.voids(), age))
    }

    /// Returns the thing at `place`: younger than `age`, or read with `read`, which uses `key`.
    pub async fn load<F>(
        &self,
        place: &Place,
        audience: Audience,
        age: Duration,
        key: KeyId,
        read: impl FnOnce() -> F,
    ) -> Result<Kept<Arc<T>>, ReadFailure>
    where
        F: Future<Output = Result<T, Refusal>> + Send + 'static,
    {
        let need = self.things.changes().need(&place.voids(), age);
        let read = |reading: Reading<Key, Arc<T>, ReadFailure>| {
            let reads = read();
            async move {
                let read = reads.await.map(Arc::new);
                reading.end(read.map_err(|refusal| ReadFailure { refusal, key: Some(key) }));
            }
        };
        self.things.get(&(place.clone(), audience), need, read).await
    }

    /// Returns the result of `load` for `place`, without parts of writes that are under way there. Must not be used by
    /// a write, which would wait for itself.
    pub async fn whole<F>(&self, place: &Place, load: impl Fn() -> F) -> Result<Kept<Arc<T>>, Refusal>
    where
        F: Future<Output = Result<Kept<Arc<T>>, Refusal>>,
    {
        self.writers.whole(&place.path, load).await
    }

    /// Begins a write with `key` at `place`: waits for other writes there, and invalidates everything read before.
    /// `sent` tells whether any part of the write was sent to v1; `touched` tells, when the write is dropped, whether
    /// v1 may have carried out any of it.
    pub async fn begin_write(
        &self,
        place: &Place,
        audience: Audience,
        key: KeyId,
        sent: Arc<AtomicBool>,
        touched: Arc<AtomicBool>,
    ) -> Write<'_, T> {
        let turn = self.writers.turn(&place.path, sent).await;
        let kept = |age| self.kept_within(place, audience, age).filter(|kept| kept.value.counts_for(key));
        let (before, older) = (kept(self.time_to_live), kept(Duration::MAX));
        let begun = self.things.changes().tell(place.itself());
        let place = place.clone();
        Write { shelf: self, place, audience, before, older, begun, touched, done: false, _turn: turn }
    }
}

/// A write under way at a place.
pub struct Write<'s, T: Shelved> {
    shelf: &'s Shelf<T>,
    place: Place,
    audience: Audience,
    before: Option<Kept<Arc<T>>>,
    /// The thing cached when the write began, too old for use while v1 answers.
    older: Option<Kept<Arc<T>>>,
    begun: Moment,
    touched: Arc<AtomicBool>,
    done: bool,
    _turn: Turn,
}

impl<T: Shelved> Write<'_, T> {
    /// Returns the thing that was cached when the write began.
    pub fn before(&self) -> Option<Kept<Arc<T>>> {
        self.before.clone()
    }

    /// Returns the same, or else a thing too old for use while v1 answers, which [`Write::finish`] carries over.
    pub fn latest(&self) -> Option<Kept<Arc<T>>> {
        self.before.clone().or_else(|| self.older.clone())
    }

    /// Uses `thing`, read during this write, as the basis of [`Write::finish`].
    pub fn found(&mut self, thing: &Kept<Arc<T>>) {
        self.before = Some(thing.clone());
    }

    /// Uses a thing that is known without a read as the basis.
    pub fn known(&mut self, thing: T) {
        self.before = Some(Kept { value: Arc::new(thing), began: self.begun });
    }

    /// Applies a finished part of the write to the thing that is carried over.
    pub fn carry(&mut self, change: impl FnOnce(&T) -> T) {
        if let Some(before) = self.before.as_mut().or(self.older.as_mut()) {
            before.value = Arc::new(change(&before.value));
        }
    }

    /// Ends the write; `change` builds the thing after the write from the one before.
    pub fn finish(mut self, change: impl FnOnce(&T) -> T) {
        self.done = true;
        self.put_back(|before| Arc::new(change(before)));
    }

    fn put_back(&mut self, change: impl FnOnce(&Arc<T>) -> Arc<T>) {
        let changes = self.shelf.things.changes();
        // Writers of one place usually form a queue. If two did not, each knows only its own change.
        let is_alone = !changes.is_void(&[self.place.itself()], self.begun);
        changes.tell(self.place.itself());
        // Taken before the check for other changes, so that every change after the check invalidates the cached thing.
        let known = changes.now();
        let undisturbed = is_alone && !changes.is_void(&self.place.around(), self.begun);
        let before = self.before.take().or_else(|| self.older.take());
        if let Some(before) = before.filter(|_| undisturbed) {
            let key = (self.place.clone(), self.audience);
            self.shelf.things.put(&key, change(&before.value), before.began.known_up_to(known));
        }
    }
}

impl<T: Shelved> Drop for Write<'_, T> {
    /// Ends a dropped write: the cached thing stays when v1 certainly carried out nothing of the write.
    fn drop(&mut self) {
        if self.done {
            return;
        }
        if self.touched.load(Ordering::SeqCst) {
            self.shelf.things.changes().tell(self.place.itself());
        } else {
            self.put_back(Arc::clone);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: KeyId = KeyId([0; 32]);

    fn place() -> Place {
        Place { workspace: "acme".into(), project: Uuid::nil(), path: "states/".into() }
    }

    impl Shelved for u32 {
        const MOST: u64 = 3 * 1024;

        fn bytes(&self) -> usize {
            1024 - ENTRY - place().path.len()
        }
    }

    fn shelf() -> Shelf<u32> {
        Shelf::new(Duration::from_secs(60), Duration::MAX, &Changes::default())
    }

    async fn write(shelf: &Shelf<u32>, touched: bool) -> Write<'_, u32> {
        let touched = Arc::new(AtomicBool::new(touched));
        shelf.begin_write(&place(), Audience::Members, KEY, Arc::clone(&touched), touched).await
    }

    async fn read(shelf: &Shelf<u32>, value: u32) -> u32 {
        *shelf
            .load(&place(), Audience::Members, shelf.time_to_live, KEY, || async move { Ok(value) })
            .await
            .unwrap()
            .value
    }

    #[tokio::test]
    async fn a_thing_is_served_until_something_changes() {
        let shelf = shelf();
        assert_eq!(read(&shelf, 1).await, 1);
        assert_eq!(read(&shelf, 2).await, 1);
        shelf.things.changes().tell(Changed::Project(Uuid::nil()));
        assert_eq!(read(&shelf, 3).await, 3);
        shelf.things.changes().tell(Changed::Workspace("acme".into()));
        assert_eq!(read(&shelf, 4).await, 4);
        shelf.things.changes().tell(Changed::Workspace("other".into()));
        assert_eq!(read(&shelf, 5).await, 4);
    }

    #[tokio::test]
    async fn as_many_things_are_kept_as_there_is_room_for() {
        let shelf = shelf();
        let at = |number| {
            let path = format!("state{number}/").into();
            Place { project: Uuid::from_u128(number), path, ..place() }
        };
        for number in 0..5 {
            let read = || async move { Ok(number as u32) };
            shelf.load(&at(number), Audience::Members, shelf.time_to_live, KEY, read).await.unwrap();
        }
        let kept = |number| shelf.kept_within(&at(number), Audience::Members, shelf.time_to_live).is_some();
        assert_eq!([0, 1, 2, 3, 4].map(kept), [false, false, true, true, true]);
        assert_eq!((shelf.figures().entries, shelf.figures().weight), (3, 3 * 1024));
        shelf.void_in(Uuid::from_u128(3));
        assert_eq!([2, 3, 4].map(kept), [true, false, true]);
    }

    #[tokio::test]
    async fn a_thing_too_old_to_serve_is_kept_for_a_time_of_shortage() {
        let shelf = Shelf::new(Duration::ZERO, Duration::MAX, &Changes::default());
        let kept = |age| shelf.kept_within(&place(), Audience::Members, age).map(|loaded| *loaded.value);
        assert_eq!((read(&shelf, 1).await, read(&shelf, 2).await), (1, 2), "never served");
        assert_eq!(kept(Duration::from_secs(60)), Some(2));
        assert_eq!(kept(Duration::ZERO), None);
        shelf.things.changes().tell(Changed::Project(Uuid::nil()));
        assert_eq!(kept(Duration::from_secs(60)), None, "something was written since");
    }

    #[tokio::test]
    async fn a_thing_too_old_to_serve_outlasts_writes_that_are_carried_over_or_never_happened() {
        let shelf = Shelf::new(Duration::ZERO, Duration::MAX, &Changes::default());
        let kept = || {
            let kept = shelf.kept_within(&place(), Audience::Members, Duration::from_secs(60));
            kept.map(|loaded| (*loaded.value, loaded.began.at))
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
        let guests =
            shelf.load(&place(), Audience::Guests, shelf.time_to_live, KEY, || async { Ok(9) }).await.unwrap();
        assert_eq!(*guests.value, 9);
    }

    #[tokio::test]
    async fn a_write_is_carried_over_unless_something_else_happened() {
        let shelf = shelf();
        read(&shelf, 1).await;
        write(&shelf, false).await.finish(|n| n + 10);
        assert_eq!(read(&shelf, 2).await, 11);
        let disturbed = write(&shelf, false).await;
        shelf.things.changes().tell(Changed::Project(Uuid::nil()));
        disturbed.finish(|n| n + 10);
        assert_eq!(read(&shelf, 3).await, 3);
        drop(write(&shelf, false).await);
        assert_eq!(read(&shelf, 4).await, 3, "v1 carried out nothing");
        drop(write(&shelf, true).await);
        assert_eq!(read(&shelf, 5).await, 5);
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
                *shelf.load(&place(), Audience::Members, shelf.time_to_live, KEY, late).await.unwrap().value
            })
        };
        tokio::time::sleep(Duration::from_millis(10)).await;
        drop(write(&shelf, true).await);
        assert_eq!(slow.await.unwrap(), 1);
        assert_eq!(read(&shelf, 2).await, 2);
    }
}

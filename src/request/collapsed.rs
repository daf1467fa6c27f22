//! Equal reads at once are carried out once (RFC 9111 calls such requests collapsed).
//!
//! A single work item, or a page of them straight from v1, is read anew for each request: the answer shows all that was
//! written before the request came. When many clients ask for the same at once, v1's quota would be spent on equal
//! calls. So the first request is carried out at once. Those that come while it is under way wait until it has ended,
//! and then one of them is carried out for all of them. So nobody gets an answer whose reading began before the
//! request came, and nobody waits for more than two readings.
//!
//! - Equal are requests with the same credential, path and query, if the same was proven of them (`terms`).
//! - The one that is carried out belongs to a client. When that leaves, the next one takes its place.
//! - An answer that is about the one request alone (a deadline, a limit, a failure of v1) is not shared: then all that
//!   waited are carried out for themselves.
//! - A reading that hangs holds the next one up for [`PATIENCE`] only.
//!
//! May use: `context`, `refusal`, `v1` (ids of keys), `v2`.

use crate::context::Meter;
use crate::refusal::Refusal;
use crate::v1::KeyId;
use crate::v2::Reply;
use http::uri::PathAndQuery;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OnceCell, SetOnce};
use tokio::time::timeout;
use uuid::Uuid;

/// Longest wait for an equal reading that is under way.
const PATIENCE: Duration = Duration::from_secs(1);

/// Readings under way, and who waits for the next ones; cheap to clone, all clones are the same. `T` are the terms.
#[derive(Debug)]
pub(super) struct Collapsed<T> {
    entries: Arc<Mutex<Entries<T>>>,
}

impl<T> Clone for Collapsed<T> {
    fn clone(&self) -> Self {
        Self { entries: Arc::clone(&self.entries) }
    }
}

impl<T> Default for Collapsed<T> {
    fn default() -> Self {
        Self { entries: Arc::new(Mutex::new(Entries { last: 0, by_key: HashMap::default() })) }
    }
}

/// What is asked for, and with which credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    /// The key that v1 sees.
    pub(super) key: KeyId,
    /// The grant or the gateway key that it is behind.
    pub(super) credential: Option<Uuid>,
    pub(super) path_and_query: PathAndQuery,
}

impl Hash for Asked {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.key, self.credential).hash(state);
        self.path_and_query.as_str().hash(state);
    }
}

#[derive(Debug)]
struct Entries<T> {
    /// Number of the last reading or group.
    last: u64,
    by_key: HashMap<Asked, Entry<T>, foldhash::fast::RandomState>,
}

/// What is going on for one key.
#[derive(Debug)]
struct Entry<T> {
    /// The reading under way; none when it has ended and the next one has not begun.
    running: Option<u64>,
    /// Set when it has ended.
    over: Arc<SetOnce<()>>,
    next: Option<Next<T>>,
}

/// Those who wait for the next reading.
#[derive(Debug)]
struct Next<T> {
    group: Arc<Group<T>>,
    members: usize,
}

#[derive(Debug)]
struct Group<T> {
    number: u64,
    terms: T,
    /// Set when the reading before has ended.
    before: Arc<SetOnce<()>>,
    /// What one of them has found; none when it is for that one alone.
    found: OnceCell<Option<Found>>,
}

#[derive(Debug)]
struct Found {
    answer: Result<Reply, Refusal>,
    /// Tells how old the answer is.
    meter: Arc<Meter>,
}

/// What becomes of a request.
#[derive(Debug)]
pub(super) enum Part<T> {
    /// It is carried out now.
    First(Reading<T>),
    /// It waits with others.
    Waits(Member<T>),
    /// It is carried out now, and nobody hears of it.
    Alone,
}

impl<T> Part<T> {
    /// The answer to the request: carried out with `run`, or that of an equal one. `meter` is that of the request.
    ///
    /// # Errors
    /// Those of `run`.
    pub(super) async fn answer<F>(self, meter: &Arc<Meter>, run: impl FnOnce() -> F) -> Result<Reply, Refusal>
    where
        F: Future<Output = Result<Reply, Refusal>>,
    {
        match self {
            Self::Alone => run().await,
            Self::First(reading) => {
                let answer = run().await;
                drop(reading);
                answer
            }
            Self::Waits(member) => Box::pin(member.answer(meter, run)).await,
        }
    }
}

impl<T> Member<T> {
    async fn answer<F>(&self, meter: &Arc<Meter>, run: impl FnOnce() -> F) -> Result<Reply, Refusal>
    where
        F: Future<Output = Result<Reply, Refusal>>,
    {
        let (mut run, mut own) = (Some(run), None);
        let lead = async {
            // One that takes longer is not waited for: its answer is of no use here.
            let _ = timeout(PATIENCE, self.group.before.wait()).await;
            let reading = self.all.begin(&self.asked, self.group.number);
            let answer = run.take()?().await;
            drop(reading);
            let found = is_for_all(&answer).then(|| Found { answer: answer.clone(), meter: Arc::clone(meter) });
            own = Some(answer);
            found
        };
        let found = self.group.found.get_or_init(|| lead).await;
        match (own, found, run) {
            (Some(own), ..) => own,
            (None, Some(found), _) => {
                meter.collapse(&found.meter);
                found.answer.clone()
            }
            (None, None, Some(run)) => run().await,
            (None, None, None) => Err(Refusal::internal("an equal read ended without an answer")),
        }
    }
}

impl<T: Eq> Collapsed<T> {
    /// Finds out whether an equal request is under way. `terms` are what was proven of this one.
    pub(super) fn join(&self, asked: Asked, terms: impl FnOnce() -> T) -> Part<T> {
        let mut entries = self.entries.lock();
        let number = entries.number();
        let Some(entry) = entries.by_key.get_mut(&asked) else {
            return Part::First(self.begin_in(&mut entries, asked));
        };
        let terms = terms();
        let group = match &mut entry.next {
            Some(next) if next.group.terms != terms => return Part::Alone,
            Some(next) => {
                next.members += 1;
                Arc::clone(&next.group)
            }
            None => {
                let before = Arc::clone(&entry.over);
                let group = Arc::new(Group { number, terms, before, found: OnceCell::new() });
                entry.next = Some(Next { group: Arc::clone(&group), members: 1 });
                group
            }
        };
        Part::Waits(Member { all: self.clone(), asked, group })
    }
}

impl<T> Collapsed<T> {
    /// The reading of a group begins. Whoever comes from now on waits for the one after it. None when the place is taken:
    /// the one who began before has left, and others came meanwhile.
    fn begin(&self, asked: &Asked, group: u64) -> Option<Reading<T>> {
        let mut entries = self.entries.lock();
        match entries.by_key.get(asked) {
            Some(entry) if !entry.is_next(group) => None,
            _ => Some(self.begin_in(&mut entries, asked.clone())),
        }
    }

    fn begin_in(&self, entries: &mut Entries<T>, asked: Asked) -> Reading<T> {
        let (number, over) = (entries.number(), Arc::<SetOnce<()>>::default());
        let entry = Entry { running: Some(number), over: Arc::clone(&over), next: None };
        entries.by_key.insert(asked.clone(), entry);
        Reading { all: self.clone(), asked, number, over }
    }
}

impl<T> Entries<T> {
    fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Changes what is going on for a key, and forgets it when nothing is any more.
    fn change(&mut self, asked: &Asked, change: impl FnOnce(&mut Entry<T>)) {
        let Some(entry) = self.by_key.get_mut(asked) else { return };
        change(entry);
        if entry.running.is_none() && entry.next.is_none() {
            self.by_key.remove(asked);
        }
    }
}

impl<T> Entry<T> {
    fn is_next(&self, group: u64) -> bool {
        self.next.as_ref().is_some_and(|next| next.group.number == group)
    }
}

/// A reading under way; it has ended when this is dropped.
#[derive(Debug)]
pub(super) struct Reading<T> {
    all: Collapsed<T>,
    asked: Asked,
    number: u64,
    over: Arc<SetOnce<()>>,
}

impl<T> Drop for Reading<T> {
    fn drop(&mut self) {
        self.all.entries.lock().change(&self.asked, |entry| {
            if entry.running == Some(self.number) {
                entry.running = None;
            }
        });
        let _ = self.over.set(());
    }
}

/// One of those who wait; it has left when this is dropped.
#[derive(Debug)]
pub(super) struct Member<T> {
    all: Collapsed<T>,
    asked: Asked,
    group: Arc<Group<T>>,
}

impl<T> Drop for Member<T> {
    fn drop(&mut self) {
        self.all.entries.lock().change(&self.asked, |entry| {
            // Once its reading has begun, nobody counts them any more.
            let Some(next) = entry.next.as_mut().filter(|next| next.group.number == self.group.number) else {
                return;
            };
            next.members -= 1;
            if next.members == 0 {
                entry.next = None;
            }
        });
    }
}

/// Whether an answer is the same for all who ask. One about a deadline, a limit, or a failure is not.
fn is_for_all(answer: &Result<Reply, Refusal>) -> bool {
    match answer {
        Ok(_) => true,
        Err(refusal) => matches!(refusal.status(), 400 | 403 | 404 | 409),
    }
}

#[cfg(test)]
mod tests;

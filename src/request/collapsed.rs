//! Equal reads at once are carried out once (RFC 9111 calls such requests collapsed).
//!
//! A single work item, or a page of them straight from v1, is read anew for each request: the answer shows all that was
//! written before the request came. When many clients ask for the same at once, v1's quota would be spent on equal
//! calls. So the first request is carried out at once. Those that come while it is under way wait until it has ended,
//! and then one of them is carried out for all of them. So nobody gets an answer whose reading began before the
//! request came, and nobody waits for more than two readings that are not slow.
//!
//! - Equal are requests with the same credential, path and query, if the same was proven of them (`terms`).
//! - The one that is carried out for all goes on when its client leaves, and ends when all have left.
//! - An answer that is about the one request alone (a deadline, a limit, a failure of v1, or older data because of one) is
//!   not shared: then all that waited are carried out for themselves.
//! - A reading that takes longer than [`PATIENCE`] holds nobody up: the next one begins beside it. When one then ends with a
//!   failure of v1, or older data because of one, that is for all who have none under way of their own: they have waited
//!   for v1 as long as they would have alone. The wait counts as one for v1 (`Context::having_waited`).
//!
//! May use: `context`, `refusal`, `trace`, `v1` (ids of keys), `v2`.

use crate::context::{Context, Meter};
use crate::refusal::Refusal;
use crate::trace::carried;
use crate::v1::KeyId;
use crate::v2::Reply;
use http::uri::PathAndQuery;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SetOnce};
use tokio::task::{AbortHandle, JoinError};
use tokio::time::{Instant, timeout, timeout_at};
use uuid::Uuid;

/// How long a reading is waited for, from when it began.
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
    began: Instant,
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
    /// When that is not waited for any more.
    until: Instant,
    /// Held by the reading that the others wait for.
    turn: Arc<Semaphore>,
    /// What the first of them has found; none when it is for that one alone.
    found: SetOnce<Option<Found>>,
    readings: Mutex<Vec<AbortHandle>>,
}

impl<T> Drop for Group<T> {
    fn drop(&mut self) {
        self.readings.get_mut().iter().for_each(AbortHandle::abort);
    }
}

#[derive(Debug)]
struct Found {
    answer: Result<Reply, Refusal>,
    /// Tells how old the answer is.
    meter: Arc<Meter>,
    /// Whether v1 did not give it, in a long time: no answer to those who have a reading of their own under way.
    in_vain: bool,
}

#[derive(Debug)]
pub(super) enum Part<T> {
    /// It is carried out now.
    First(Reading<T>),
    /// It waits with others.
    Waits(Member<T>),
    /// It is carried out now, and nobody hears of it.
    Alone,
}

impl<T: Send + Sync + 'static> Part<T> {
    /// The answer to the request whose companion `ctx` is: carried out with `run`, which is told how long it has waited, or
    /// that of an equal one.
    ///
    /// # Errors
    /// Those of `run`.
    pub(super) async fn answer<F>(self, ctx: &Context, run: impl FnOnce(Duration) -> F) -> Result<Reply, Refusal>
    where
        F: Future<Output = Result<Reply, Refusal>> + Send + 'static,
    {
        match self {
            Self::Alone => run(Duration::ZERO).await,
            Self::First(reading) => {
                let answer = run(Duration::ZERO).await;
                drop(reading);
                answer
            }
            Self::Waits(member) => Box::pin(member.answer(ctx, run)).await,
        }
    }
}

impl<T: Send + Sync + 'static> Member<T> {
    async fn answer<F>(&self, ctx: &Context, run: impl FnOnce(Duration) -> F) -> Result<Reply, Refusal>
    where
        F: Future<Output = Result<Reply, Refusal>> + Send + 'static,
    {
        let (group, came) = (&self.group, self.came);
        let turn = tokio::select! {
            biased;
            found = group.found.wait() => {
                let Some(found) = found else { return run(came.elapsed()).await };
                ctx.meter.trace().into_iter().for_each(|trace| trace.step("equal read", came.into_std()));
                return found.answer_to(ctx);
            }
            turn = Arc::clone(&group.turn).acquire_owned() => turn.ok(),
        };
        let patience = PATIENCE.min(ctx.patience());
        let _ = timeout_at(group.until.min(came + patience), group.before.wait()).await;
        let mut reading = pin!(tokio::spawn(carried(self.reading(ctx, run(came.elapsed()), turn))));
        group.readings.lock().push(reading.abort_handle());
        tokio::select! {
            biased;
            found = group.found.wait() => {
                match found.as_ref().filter(|found| !found.in_vain) {
                    Some(found) => found.answer_to(ctx),
                    None => ended(reading.await),
                }
            }
            answer = &mut reading => ended(answer),
        }
    }

    /// Carries `work` out for the group, as long as somebody of it is there. When it takes long, another one may have its
    /// turn beside it.
    fn reading<F>(
        &self,
        ctx: &Context,
        work: F,
        mut turn: Option<OwnedSemaphorePermit>,
    ) -> impl Future<Output = Result<Reply, Refusal>> + Send + use<T, F>
    where
        F: Future<Output = Result<Reply, Refusal>> + Send + 'static,
    {
        let reading = self.all.begin(&self.asked, self.group.number);
        let (group, meter) = (Arc::downgrade(&self.group), Arc::clone(&ctx.meter));
        let (came, patience) = (self.came, PATIENCE.min(ctx.patience()));
        async move {
            let mut work = pin!(work);
            let answer = match timeout(patience, &mut work).await {
                Ok(answer) => answer,
                Err(_) => {
                    turn.take();
                    work.await
                }
            };
            let long = came.elapsed() > PATIENCE * 2;
            drop(reading);
            if let Some(group) = group.upgrade() {
                let _ = group.found.set(found(&answer, &meter, long));
            }
            answer
        }
    }
}

/// What became of a reading; a panic is its client's.
fn ended(outcome: Result<Result<Reply, Refusal>, JoinError>) -> Result<Reply, Refusal> {
    match outcome.map_err(JoinError::try_into_panic) {
        Ok(answer) => answer,
        Err(Ok(panic)) => resume_unwind(panic),
        Err(Err(fault)) => Err(Refusal::internal(fault)),
    }
}

impl Found {
    /// As the answer to the request whose companion `ctx` is, which may be the one that was carried out.
    fn answer_to(&self, ctx: &Context) -> Result<Reply, Refusal> {
        if self.meter.number() != ctx.meter.number() {
            ctx.meter.collapse(&self.meter);
        }
        self.answer.clone()
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
                let (before, until) = (Arc::clone(&entry.over), entry.began + PATIENCE);
                let (turn, found) = (Arc::new(Semaphore::new(1)), SetOnce::new());
                let readings = Mutex::default();
                let group = Arc::new(Group { number, terms, before, until, turn, found, readings });
                entry.next = Some(Next { group: Arc::clone(&group), members: 1 });
                group
            }
        };
        Part::Waits(Member { all: self.clone(), asked, group, came: Instant::now() })
    }
}

impl<T> Collapsed<T> {
    /// The reading of a group begins. Whoever comes from now on waits for the one after it. None when one of this group has
    /// begun before: it takes long, or its client has left, and others came meanwhile, who wait for that one.
    fn begin(&self, asked: &Asked, group: u64) -> Option<Reading<T>> {
        let mut entries = self.entries.lock();
        match entries.by_key.get(asked) {
            Some(entry) if !entry.is_next(group) => None,
            _ => Some(self.begin_in(&mut entries, asked.clone())),
        }
    }

    fn begin_in(&self, entries: &mut Entries<T>, asked: Asked) -> Reading<T> {
        let (number, over) = (entries.number(), Arc::<SetOnce<()>>::default());
        let entry = Entry { running: Some(number), began: Instant::now(), over: Arc::clone(&over), next: None };
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
    came: Instant,
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

/// What an answer is to others who ask for the same. One about a deadline, a limit or a failure is none, nor is older data
/// because of a failure, unless its client has waited `long`: then nobody would have learned more alone.
fn found(answer: &Result<Reply, Refusal>, meter: &Arc<Meter>, long: bool) -> Option<Found> {
    let (is_for_all, failed) = match answer {
        Ok(_) => (!meter.makes_do(), meter.makes_do()),
        Err(refusal) => (matches!(refusal.status(), 400 | 403 | 404 | 409), refusal.is_trouble()),
    };
    let in_vain = long && failed;
    (is_for_all || in_vain).then(|| Found { answer: answer.clone(), meter: Arc::clone(meter), in_vain })
}

#[cfg(test)]
mod tests;

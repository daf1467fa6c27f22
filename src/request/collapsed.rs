//! Equal reads at the same time are carried out once (RFC 9111 calls such requests collapsed).
//!
//! A single work item, or a page of work items straight from v1, is read again for each request: the answer shows all
//! writes from before the request. When many clients ask for the same at once, equal calls would spend v1's quota. So
//! the first request is carried out at once. Requests that arrive meanwhile wait until it has ended. Then one of them
//! is carried out for all of them. No client gets an answer whose reading began before its request arrived, and no
//! client waits for more than two readings that are not slow.
//!
//! - Requests are equal when they have the same credential, path and query, and the same proven facts (`terms`).
//! - A reading for a group goes on when its own client leaves, and ends when all clients of the group have left.
//! - An answer that is about one request alone (a deadline, a limit, a failure of v1, or older data because of one) is
//!   not shared: then each waiting request is carried out on its own.
//! - A reading that takes longer than [`PATIENCE`] does not delay the next one, which begins beside it. If the slow one
//!   then ends with a failure of v1, or with older data because of one, all requests without a reading of their own get
//!   this result: alone they would have waited for v1 just as long. For v1 it is one wait (`Context::having_waited`).
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

/// Longest wait for a reading, counted from its beginning.
const PATIENCE: Duration = Duration::from_secs(1);

/// Readings under way, and the requests that wait for the next ones; all clones are the same. `T`: the terms.
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

/// The requested path and query, with the credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RequestKey {
    /// The key that v1 sees.
    pub(super) key: KeyId,
    /// The grant or the gateway key in front of the v1 key.
    pub(super) credential: Option<Uuid>,
    pub(super) path_and_query: PathAndQuery,
}

impl Hash for RequestKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.key, self.credential).hash(state);
        self.path_and_query.as_str().hash(state);
    }
}

#[derive(Debug)]
struct Entries<T> {
    /// Number of the last reading or group.
    last: u64,
    by_key: HashMap<RequestKey, Entry<T>, foldhash::fast::RandomState>,
}

/// The reading under way and the waiting group of one [`RequestKey`].
#[derive(Debug)]
struct Entry<T> {
    /// The reading under way; none when it has ended and the next one has not begun.
    running: Option<u64>,
    began: Instant,
    /// Set when the reading has ended.
    over: Arc<SetOnce<()>>,
    next: Option<Next<T>>,
}

/// The requests that wait for the next reading.
#[derive(Debug)]
struct Next<T> {
    group: Arc<Group<T>>,
    members: usize,
}

#[derive(Debug)]
struct Group<T> {
    number: u64,
    terms: T,
    /// Set when the previous reading has ended.
    before: Arc<SetOnce<()>>,
    /// Time after which the previous reading is not waited for any more.
    until: Instant,
    /// Held by the reading that the other members wait for.
    turn: Arc<Semaphore>,
    /// The result of the first reading of the group; none when it is for one request alone.
    found: SetOnce<Option<SharedResult>>,
    readings: Mutex<Vec<AbortHandle>>,
}

impl<T> Drop for Group<T> {
    fn drop(&mut self) {
        self.readings.get_mut().iter().for_each(AbortHandle::abort);
    }
}

#[derive(Debug)]
struct SharedResult {
    answer: Result<Reply, Refusal>,
    /// Tells how old the answer is.
    meter: Arc<Meter>,
    /// Whether v1 failed to answer for a long time. Such a result is not for members that have a reading of their own.
    is_failure_after_long_wait: bool,
}

#[derive(Debug)]
pub(super) enum Part<T> {
    /// The request is carried out now. Others wait for the end of its reading; without a reading, none wait.
    Now(Option<Reading<T>>),
    /// The request waits together with others.
    Waits(Member<T>),
}

impl<T: Send + Sync + 'static> Part<T> {
    /// Returns the answer to the request of `ctx`: carried out with `run`, which gets the time waited so far, or taken
    /// from an equal request.
    ///
    /// # Errors
    /// Those of `run`.
    pub(super) async fn answer<F>(self, ctx: &Context, run: impl FnOnce(Duration) -> F) -> Result<Reply, Refusal>
    where
        F: Future<Output = Result<Reply, Refusal>> + Send + 'static,
    {
        match self {
            Self::Now(reading) => {
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
                match found.as_ref().filter(|found| !found.is_failure_after_long_wait) {
                    Some(found) => found.answer_to(ctx),
                    None => ended(reading.await),
                }
            }
            answer = &mut reading => ended(answer),
        }
    }

    /// Carries `work` out for the group while at least one member is left. When it takes long, it gives its turn up,
    /// and another reading may begin beside it.
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

/// Returns the result of a reading; a panic continues in the task of its client.
fn ended(outcome: Result<Result<Reply, Refusal>, JoinError>) -> Result<Reply, Refusal> {
    match outcome.map_err(JoinError::try_into_panic) {
        Ok(answer) => answer,
        Err(Ok(panic)) => resume_unwind(panic),
        Err(Err(fault)) => Err(Refusal::internal(fault)),
    }
}

impl SharedResult {
    /// Returns this answer for the request of `ctx`, which may be the request that was carried out.
    fn answer_to(&self, ctx: &Context) -> Result<Reply, Refusal> {
        if self.meter.number() != ctx.meter.number() {
            ctx.meter.collapse(&self.meter);
        }
        self.answer.clone()
    }
}

impl<T: Eq> Collapsed<T> {
    /// Checks whether an equal request is under way. `terms` are the proven facts of this request.
    pub(super) fn join(&self, asked: RequestKey, terms: impl FnOnce() -> T) -> Part<T> {
        let mut entries = self.entries.lock();
        let number = entries.number();
        let Some(entry) = entries.by_key.get_mut(&asked) else {
            return Part::Now(Some(self.begin_in(&mut entries, asked)));
        };
        let terms = terms();
        let group = match &mut entry.next {
            // The group reads under other terms, so this request is carried out by itself and shares nothing.
            Some(next) if next.group.terms != terms => return Part::Now(None),
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
    /// Begins the reading of a group. Requests that arrive from now on wait for the next one. None when a reading of
    /// this group began earlier, and either takes long or lost its client: requests that came meanwhile wait for that
    /// reading.
    fn begin(&self, asked: &RequestKey, group: u64) -> Option<Reading<T>> {
        let mut entries = self.entries.lock();
        match entries.by_key.get(asked) {
            Some(entry) if !entry.is_next(group) => None,
            _ => Some(self.begin_in(&mut entries, asked.clone())),
        }
    }

    fn begin_in(&self, entries: &mut Entries<T>, asked: RequestKey) -> Reading<T> {
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

    /// Changes the entry of `asked`, and removes it when nothing runs and no request waits.
    fn change(&mut self, asked: &RequestKey, change: impl FnOnce(&mut Entry<T>)) {
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
    asked: RequestKey,
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

/// One of the waiting requests; it has left when this is dropped.
#[derive(Debug)]
pub(super) struct Member<T> {
    all: Collapsed<T>,
    asked: RequestKey,
    group: Arc<Group<T>>,
    came: Instant,
}

impl<T> Drop for Member<T> {
    fn drop(&mut self) {
        self.all.entries.lock().change(&self.asked, |entry| {
            // Once the reading of its group has begun, members are not counted any more.
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

/// Returns an answer in the form that equal requests share; none for a deadline or a limit. A failure of v1, or older
/// data because of one, is shared only if its client has waited `long`: alone, the others would have learned no more.
fn found(answer: &Result<Reply, Refusal>, meter: &Arc<Meter>, long: bool) -> Option<SharedResult> {
    let (is_for_all, failed) = match answer {
        Ok(_) => (!meter.uses_older_data(), meter.uses_older_data()),
        Err(refusal) => (matches!(refusal.status(), 400 | 403 | 404 | 409), refusal.is_upstream_failure()),
    };
    let is_failure_after_long_wait = long && failed;
    (is_for_all || is_failure_after_long_wait).then(|| SharedResult {
        answer: answer.clone(),
        meter: Arc::clone(meter),
        is_failure_after_long_wait,
    })
}

#[cfg(test)]
mod tests;

//! What v1 said about access, for a short while: the one cache behind identities and cards.
//!
//! An answer is used while it is young enough for the one who asks and not older than the last reason to
//! forget it. Its age counts from before the question was sent. Faults (429, 5xx, time-outs) are never
//! remembered. While v1 is unreachable or failing, a read may use a value that is older by a time of grace; a
//! refusal is never used for longer, and v1's next verdict, whatever it is, replaces the value. May use: `context`, `pruned`, `refusal`, `coalesce`, `v1` (for the key's id), `clock`.

use super::clock::Clock;
use crate::coalesce::Coalesce;
use crate::context::Context;
use crate::pruned::PrunedMap;
use crate::refusal::Refusal;
use crate::v1::{KeyId, V1Error};
use moka::future::Cache;
use parking_lot::Mutex;
use std::future::Future;
use std::hash::Hash;
use std::sync::Arc;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// What v1 said: a value, or the refusal that is its final word. Both may be remembered.
pub(super) type Verdict<V> = Result<V, Refusal>;

/// Shared work may go on for this long after the first client has left.
const SHARED_WORK: Duration = Duration::from_secs(10);
/// Rounds a request waits for an answer that is new enough; a third is needed only when it is forgotten
/// again while being read.
const ROUNDS: u32 = 3;

/// A verdict and when it was asked for.
#[derive(Debug, Clone)]
pub(super) struct Answer<V> {
    pub(super) verdict: Verdict<V>,
    pub(super) read_at: Instant,
}

/// How long verdicts are good.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ages {
    pub(super) value: Duration,
    pub(super) refusal: Duration,
    /// What a value may be older by while v1 is away.
    pub(super) grace: Duration,
}

/// A reason to forget: everything that was asked for before it, under this mark, is void.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Mark {
    Identity(KeyId),
    Key(KeyId),
    Project(Uuid),
    /// Whatever was learned of all projects at once; goes with each single one.
    AnyProject,
    Workspace(String),
    /// Voids only what is used in a time of grace.
    Grace(KeyId),
}

/// When something was last forgotten, by mark. Also voids answers that are still on their way.
#[derive(Debug)]
pub(super) struct Forgotten {
    marks: Mutex<PrunedMap<Mark, Instant>>,
    clock: Clock,
    /// Older marks void nothing any more, because nothing is remembered for longer.
    horizon: Duration,
}

/// Marks that are kept without looking for old ones.
const FEW: usize = 1024;

impl Forgotten {
    pub(super) fn new(clock: Clock, horizon: Duration) -> Self {
        Self { marks: Mutex::new(PrunedMap::new(FEW)), clock, horizon }
    }

    pub(super) fn forget(&self, mark: Mark) {
        let now = self.clock.now();
        let is_young = |at: &Instant| now.saturating_duration_since(*at) <= self.horizon;
        *self.marks.lock().get_or_insert(mark, is_young, || now) = now;
    }

    fn voids(&self, read_at: Instant, of: &[Mark]) -> bool {
        let marks = self.marks.lock();
        of.iter().any(|mark| marks.get(mark).is_some_and(|forgotten| read_at <= *forgotten))
    }
}

/// Verdicts by key, each asked for once however many want it at the same time.
pub(super) struct Remembered<K, V> {
    cache: Cache<K, Answer<V>>,
    flights: Coalesce<K, Answer<V>>,
    judge: Judge,
}

/// Decides whether an answer may still be used.
#[derive(Clone)]
struct Judge {
    forgotten: Arc<Forgotten>,
    clock: Clock,
    ages: Ages,
}

impl Judge {
    fn is_good<V>(&self, answer: &Answer<V>, marks: &[Mark], oldest: Option<Instant>) -> bool {
        let allowed = if answer.verdict.is_ok() { self.ages.value } else { self.ages.refusal };
        self.clock.now().saturating_duration_since(answer.read_at) < allowed
            && oldest.is_none_or(|oldest| answer.read_at >= oldest)
            && !self.forgotten.voids(answer.read_at, marks)
    }
}

impl Judge {
    /// Whether a value may be used although v1 cannot be asked about it.
    fn is_good_in_outage<V>(&self, answer: &Answer<V>, marks: &[Mark]) -> bool {
        let allowed = self.ages.value + self.ages.grace;
        answer.verdict.is_ok()
            && !self.ages.grace.is_zero()
            && self.clock.now().saturating_duration_since(answer.read_at) < allowed
            && !self.forgotten.voids(answer.read_at, marks)
            && !self.forgotten.voids(answer.read_at, &graces(marks))
    }
}

impl<K, V> Remembered<K, V>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    /// `capacity` counts in units of `weigh`.
    pub(super) fn new(
        capacity: u64,
        weigh: fn(&V) -> u32,
        ages: Ages,
        forgotten: Arc<Forgotten>,
        clock: Clock,
    ) -> Self {
        let cache = Cache::builder()
            .max_capacity(capacity)
            .weigher(move |_, answer: &Answer<V>| answer.verdict.as_ref().map_or(1, weigh))
            .time_to_live((ages.value + ages.grace).max(ages.refusal))
            .build();
        Self { cache, flights: Coalesce::default(), judge: Judge { forgotten, clock, ages } }
    }

    /// The verdict under `key`, at most `max_age` old, remembered or asked for with `ask`. `ask` gets a
    /// context of its own, so that it outlives this request, and answers `Err` for faults that are not to
    /// be remembered.
    pub(super) async fn get<F>(
        &self,
        key: K,
        marks: &[Mark],
        max_age: Duration,
        ctx: &Context,
        ask: impl Fn(Context) -> F,
    ) -> Result<Answer<V>, Refusal>
    where
        F: Future<Output = Result<Verdict<V>, Refusal>> + Send + 'static,
    {
        let asked_at = self.judge.clock.now();
        let oldest = asked_at.checked_sub(max_age);
        if let Some(answer) = self.cache.get(&key).await
            && self.judge.is_good(&answer, marks, oldest)
        {
            return Ok(answer);
        }
        let mut asking = Box::pin(self.ask(key.clone(), marks, (asked_at, oldest), ctx, &ask));
        if !ctx.tolerant {
            return asking.await;
        }
        let outcome = match tokio::time::timeout(ctx.patience(), &mut asking).await {
            Ok(outcome) => outcome,
            Err(_) if self.outlasting(&key, marks, max_age, ctx).await.is_some() => Err(no_answer()),
            Err(_) => asking.await,
        };
        match outcome {
            Err(refusal) if refusal.is_trouble() => {
                // Looked for again, because it may have been forgotten or replaced meanwhile.
                let older = self.outlasting(&key, marks, max_age, ctx).await.ok_or(refusal)?;
                ctx.meter.outlasted(older.read_at);
                Ok(older)
            }
            outcome => outcome,
        }
    }

    /// What may be used under `key` should v1 turn out to be away. Whoever wants it asked now gets nothing else.
    async fn outlasting(&self, key: &K, marks: &[Mark], max_age: Duration, ctx: &Context) -> Option<Answer<V>> {
        if !ctx.tolerant || max_age.is_zero() {
            return None;
        }
        let kept = self.cache.get(key).await?;
        self.judge.is_good_in_outage(&kept, marks).then_some(kept)
    }

    async fn ask<F>(
        &self,
        key: K,
        marks: &[Mark],
        (asked_at, oldest): (Instant, Option<Instant>),
        ctx: &Context,
        ask: &impl Fn(Context) -> F,
    ) -> Result<Answer<V>, Refusal>
    where
        F: Future<Output = Result<Verdict<V>, Refusal>> + Send + 'static,
    {
        for _ in 1..ROUNDS {
            let answer = self.ask_once(key.clone(), marks, oldest, ctx, ask).await?;
            // Work that was under way already may have begun before a change this request must see.
            let begun_for_us = answer.read_at >= asked_at && !self.judge.forgotten.voids(answer.read_at, marks);
            if begun_for_us || self.judge.is_good(&answer, marks, oldest) {
                return Ok(answer);
            }
        }
        self.ask_once(key, marks, oldest, ctx, ask).await
    }

    /// Remembers a value learned on the way to something else.
    pub(super) async fn learn(&self, key: K, value: V, read_at: Instant) {
        self.cache.insert(key, Answer { verdict: Ok(value), read_at }).await;
    }

    async fn ask_once<F>(
        &self,
        key: K,
        marks: &[Mark],
        oldest: Option<Instant>,
        ctx: &Context,
        ask: &impl Fn(Context) -> F,
    ) -> Result<Answer<V>, Refusal>
    where
        F: Future<Output = Result<Verdict<V>, Refusal>> + Send + 'static,
    {
        let flight = self.flights.run(key.clone(), || {
            let read_at = self.judge.clock.now();
            let (cache, work) = (self.cache.clone(), ask(ctx.for_shared_work(ctx.remaining().max(SHARED_WORK))));
            let (judge, marks) = (self.judge.clone(), marks.to_vec());
            async move {
                // Somebody's question may have been answered since the caller looked.
                if let Some(answer) = cache.get(&key).await
                    && judge.is_good(&answer, &marks, oldest)
                {
                    return Ok(answer);
                }
                let answer = Answer { verdict: work.await?, read_at };
                cache.insert(key, answer.clone()).await;
                Ok(answer)
            }
        });
        let in_time = tokio::time::timeout(ctx.remaining(), flight).await;
        in_time.unwrap_or_else(|_| Err(no_answer()))
    }
}

/// v1 has not answered in the time allowed.
fn no_answer() -> Refusal {
    V1Error::Timeout { maybe_done: false }.refusal()
}

/// The marks under which a time of grace is ended, of the keys in `marks`.
fn graces(marks: &[Mark]) -> Vec<Mark> {
    let key = |mark: &Mark| match mark {
        Mark::Identity(key) | Mark::Key(key) => Some(Mark::Grace(*key)),
        _ => None,
    };
    marks.iter().filter_map(key).collect()
}

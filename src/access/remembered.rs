//! Cache of v1's answers about access, for a short time: the one cache behind identities and cards.
//!
//! It follows the rules of `fresh`. When a call first waits for v1's quota, the age of its verdict counts from when v1
//! is asked, so that it is not too old on arrival. A refusal that is v1's final answer is cached too, for a shorter
//! time. Errors (429, 5xx, time-outs) are never cached. While v1 is unreachable or failing, a read may use a value that
//! is older by a grace time. A refusal gets no grace time, and v1's next verdict replaces the value in any case.
//!
//! Before v1 is asked, a recent proof of another gateway process may be used (`shared_proofs`).
//!
//! May use: `context`, `fresh`, `refusal`, `v1` (the budget), `shared_proofs`.

use super::shared_proofs::Sharing;
use crate::context::Context;
use crate::fresh::{Changed, Changes, Figures, Fresh, Kept, Key, Moment, Need, Reading, Value, or_older};
use crate::refusal::Refusal;
use crate::v1::{Budget, KeyId};
use std::future::Future;
use std::time::{Duration, Instant};

/// Answer of v1: a value, or the refusal that is its final answer. Both may be cached.
pub(super) type Verdict<V> = Result<V, Refusal>;

/// Time for which shared work may continue after the first client has left.
const SHARED_WORK: Duration = Duration::from_secs(10);

/// Wait for the quota below which the age of a verdict counts from when it was wanted.
const WAITED: Duration = Duration::from_secs(1);

/// Greatest ages of verdicts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ages {
    pub(super) value: Duration,
    /// Greatest age of a value that a caller may ask for.
    pub(super) longest: Duration,
    pub(super) refusal: Duration,
    /// Time that a value may be older while v1 is unavailable.
    pub(super) grace: Duration,
}

/// Verdicts by the v1 key that they were read with and by their subject. Concurrent callers share one request to v1.
pub(super) struct Remembered<K, V> {
    verdicts: Fresh<(KeyId, K), Verdict<V>, Refusal>,
    ages: Ages,
    budget: Budget,
}

impl<K: Key, V: Value> Remembered<K, V> {
    /// Creates the cache. `capacity` counts in units of `weigh`; requests to v1 wait for the quota in `budget`.
    pub(super) fn new(capacity: u64, weigh: fn(&V) -> u32, ages: Ages, changes: &Changes, budget: &Budget) -> Self {
        let verdicts = Fresh::new(changes, capacity)
            .weighing(move |_, verdict: &Verdict<V>| verdict.as_ref().map_or(1, weigh).into())
            .lasting(move |verdict| if verdict.is_ok() { ages.longest } else { ages.refusal })
            .useless_after((ages.value.max(ages.longest) + ages.grace).max(ages.refusal));
        Self { verdicts, ages, budget: budget.clone() }
    }

    /// Returns the verdict under `key`, at most `max_age` old and void after `voids`, from the cache or from `ask`.
    /// `ask` gets a context of its own, so that it outlives this request. It returns `Err` for errors that must not be
    /// cached. `share` returns how to use the verdicts of other processes, if they may have them.
    ///
    /// # Errors
    /// Errors of `ask`; [`Refusal::DeadlineExceeded`] when the verdict does not arrive while there is still time to use
    /// it.
    pub(super) async fn get<F>(
        &self,
        key: (KeyId, K),
        voids: &[Changed],
        max_age: Duration,
        ctx: &Context,
        share: impl FnOnce() -> Option<Sharing<V>>,
        ask: impl FnOnce(Context) -> F,
    ) -> Result<Kept<Verdict<V>>, Refusal>
    where
        F: Future<Output = Result<Verdict<V>, Refusal>> + Send + 'static,
    {
        let need = self.verdicts.changes().need(voids, max_age);
        if let Some(kept) = self.verdicts.kept(&key, &need) {
            return Ok(kept);
        }
        let left = ctx.remaining();
        let before = self.verdicts.any(&key).map(|kept| kept.began);
        let read = |reading: Reading<(KeyId, K), Verdict<V>, Refusal>| {
            let (ctx, sent) = ctx.for_shared_work(left.max(SHARED_WORK)).with_sent_time();
            let asking = ask(ctx);
            let (sharing, changes, lasts) = (share(), self.verdicts.changes().clone(), self.ages.longest);
            async move {
                let since = Instant::now();
                if let Some(sharing) = &sharing
                    && let Some((value, began)) = sharing.look(&changes, lasts.min(max_age)).await
                    && need.is_met(began)
                {
                    // A proof that was read later than the cached value reflects all changes before that value was
                    // read. So its moment must be later too; else it would not replace the value, and every request
                    // would look for it again.
                    let before = before.filter(|before| before.at < began.at);
                    let began = before.map_or(began, |before| changes.later_moment_at(began.at, before));
                    drop(reading.land(Ok(value), began));
                    return;
                }
                let outcome = asking.await;
                let (began, waited) = (reading.began(), sent.after(since));
                let began = match waited < WAITED {
                    true => began,
                    false => changes.later_moment_at(began.at + waited, began),
                };
                if let Some(sharing) = sharing {
                    let age = changes.now().at.saturating_duration_since(began.at);
                    sharing.tell(&outcome, age, lasts);
                }
                match outcome {
                    Ok(verdict) => drop(reading.land(verdict, began)),
                    Err(fault) => reading.fail(fault),
                }
            }
        };
        let asking = async {
            // An answer after that time could not be used before the deadline.
            let in_time = tokio::time::timeout(ctx.time_to_begin(), self.verdicts.get(&key, need, read)).await;
            in_time.unwrap_or(Err(Refusal::DeadlineExceeded { maybe_done: false }))
        };
        // A caller that wants a fresh answer must not get an older one.
        let older = || if max_age.is_zero() { None } else { self.outlasting(&key, voids, max_age) };
        let of = key.0;
        or_older(ctx, || self.budget.is_queued(of), older, Box::pin(asking)).await
    }

    pub(super) fn figures(&self) -> Figures {
        self.verdicts.figures()
    }

    /// Returns the cached value that meets `need`.
    pub(super) fn known(&self, key: &(KeyId, K), need: &Need) -> Option<V> {
        self.verdicts.kept(key, need)?.value.ok()
    }

    /// Caches a value found by another request, whose read began at `began`.
    pub(super) fn learn(&self, key: &(KeyId, K), value: V, began: Moment) {
        self.verdicts.put(key, Ok(value), began);
    }

    /// Returns the value under `key` that a caller of `max_age` may use if v1 is unavailable, and the time of its read.
    fn outlasting(
        &self,
        key: &(KeyId, K),
        voids: &[Changed],
        max_age: Duration,
    ) -> Option<(Kept<Verdict<V>>, Instant)> {
        let kept = self.verdicts.any(key).filter(|kept| kept.value.is_ok() && !self.ages.grace.is_zero())?;
        let refused = voids.iter().filter_map(|void| match void {
            Changed::Identity(key) | Changed::KeyAccess(key) => Some(Changed::Refused(*key)),
            _ => None,
        });
        let voids: Vec<Changed> = refused.chain(voids.iter().cloned()).collect();
        let usual = max_age.clamp(self.ages.value, self.ages.longest);
        let need = self.verdicts.changes().need(&voids, usual + self.ages.grace);
        need.is_met(kept.began).then(|| (kept.clone(), kept.began.at))
    }
}

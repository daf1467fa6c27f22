//! What v1 said about access, for a short while: the one cache behind identities and cards.
//!
//! It keeps to the rules of `fresh`. A verdict that first waits for v1's quota counts from when v1 is asked, so that it
//! is not old before it is there. A refusal that is v1's final word is remembered as well, for a shorter time; faults
//! (429, 5xx, time-outs) never are. While v1 is unreachable or failing, a read may use a value that is older by a time
//! of grace; a refusal is never used for longer, and v1's next verdict, whatever it is, replaces the value.
//!
//! Before v1 is asked, a proof that another process has obtained from it not long ago may do (`shared_proofs`).
//!
//! May use: `context`, `fresh`, `refusal`, `v1` (the budget), `shared_proofs`.

use super::shared_proofs::Sharing;
use crate::context::Context;
use crate::fresh::{Changed, Changes, Figures, Fresh, Kept, Key, Moment, Need, Reading, Value, or_older};
use crate::refusal::Refusal;
use crate::v1::{Budget, KeyId};
use std::future::Future;
use std::time::{Duration, Instant};

/// What v1 said: a value, or the refusal that is its final word. Both may be remembered.
pub(super) type Verdict<V> = Result<V, Refusal>;

/// Shared work may go on for this long after the first client has left.
const SHARED_WORK: Duration = Duration::from_secs(10);

/// A verdict that was waited for less than this before v1 was asked counts from when somebody wanted it.
const WAITED: Duration = Duration::from_secs(1);

/// How long verdicts are good.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ages {
    pub(super) value: Duration,
    /// Up to which age somebody may ask for a value at all.
    pub(super) longest: Duration,
    pub(super) refusal: Duration,
    /// What a value may be older by while v1 is away.
    pub(super) grace: Duration,
}

/// Verdicts by the key of v1 they were asked for with and what they are about, each asked for once however many want it
/// at the same time.
pub(super) struct Remembered<K, V> {
    verdicts: Fresh<(KeyId, K), Verdict<V>, Refusal>,
    changes: Changes,
    ages: Ages,
    budget: Budget,
}

impl<K: Key, V: Value> Remembered<K, V> {
    /// `capacity` counts in units of `weigh`; what is asked for waits for the quota in `budget`.
    pub(super) fn new(capacity: u64, weigh: fn(&V) -> u32, ages: Ages, changes: &Changes, budget: &Budget) -> Self {
        let verdicts = Fresh::new(changes, capacity)
            .weighing(move |_, verdict: &Verdict<V>| verdict.as_ref().map_or(1, weigh).into())
            .lasting(move |verdict| if verdict.is_ok() { ages.longest } else { ages.refusal })
            .useless_after((ages.value + ages.grace).max(ages.longest).max(ages.refusal));
        Self { verdicts, changes: changes.clone(), ages, budget: budget.clone() }
    }

    /// The verdict under `key`, at most `max_age` old and void after `voids`, remembered or asked for with `ask`. `ask`
    /// gets a context of its own, so that it outlives this request, and answers `Err` for faults that are not to
    /// be remembered. Where other processes may have obtained the verdict, `share` says how.
    ///
    /// # Errors
    /// What `ask` says; [`Refusal::DeadlineExceeded`] when there is no verdict while something could still be done with
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
        let need = self.changes.need(voids, max_age);
        if let Some(kept) = self.verdicts.kept(&key, &need) {
            return Ok(kept);
        }
        let left = ctx.remaining();
        let before = self.verdicts.any(&key).map(|kept| kept.began);
        let read = |reading: Reading<(KeyId, K), Verdict<V>, Refusal>| {
            let (ctx, sent) = ctx.for_shared_work(left.max(SHARED_WORK)).telling_when_sent();
            let asking = ask(ctx);
            let (sharing, changes, lasts) = (share(), self.changes.clone(), self.ages.longest);
            async move {
                let since = Instant::now();
                if let Some(sharing) = &sharing
                    && let Some((value, began)) = sharing.look(&changes, lasts.min(max_age)).await
                    && need.is_met(began)
                {
                    // A proof that was asked for later than the value kept here has seen all that had happened before
                    // that; else it would not take its place, and be looked for again by every request.
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
            // A later answer could not be used before the deadline.
            let in_time = tokio::time::timeout(ctx.time_to_begin(), self.verdicts.get(&key, need, read)).await;
            in_time.unwrap_or(Err(Refusal::DeadlineExceeded { maybe_done: false }))
        };
        // A caller that wants a fresh answer gets no older one.
        let older = || if max_age.is_zero() { None } else { self.outlasting(&key, voids) };
        let of = key.0;
        or_older(ctx, || self.budget.is_queued(of), older, Box::pin(asking)).await
    }

    pub(super) fn figures(&self) -> Figures {
        self.verdicts.figures()
    }

    /// The value that is remembered and meets `need`.
    pub(super) fn known(&self, key: &(KeyId, K), need: &Need) -> Option<V> {
        self.verdicts.kept(key, need)?.value.ok()
    }

    /// Remembers a value learned on the way to something else, from a read that began then.
    pub(super) fn learn(&self, key: &(KeyId, K), value: V, began: Moment) {
        self.verdicts.put(key, Ok(value), began);
    }

    /// What may be used under `key` should v1 turn out to be away, and when it was asked for.
    fn outlasting(&self, key: &(KeyId, K), voids: &[Changed]) -> Option<(Kept<Verdict<V>>, Instant)> {
        let kept = self.verdicts.any(key).filter(|kept| kept.value.is_ok() && !self.ages.grace.is_zero())?;
        let refused = voids.iter().filter_map(|void| match void {
            Changed::Identity(key) | Changed::KeyAccess(key) => Some(Changed::Refused(*key)),
            _ => None,
        });
        let voids: Vec<Changed> = refused.chain(voids.iter().cloned()).collect();
        let need = self.changes.need(&voids, self.ages.value + self.ages.grace);
        need.is_met(kept.began).then(|| (kept.clone(), kept.began.at))
    }
}

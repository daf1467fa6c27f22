//! Repeatable POST requests: a request with an `Idempotency-Key` is carried out once, and a client that sends it again
//! gets the same answer.
//!
//! The row of the request is written before anything is done, and the answer is added when it is known. A task does
//! this, and it goes on when the client leaves. A request that is refused before anything was written leaves no row,
//! and its key is free again. Sometimes the outcome at v1 is unknown (a lost answer, a killed process). Then the
//! repetition looks first: a found record is the answer; a request that was certainly not carried out is carried out;
//! when looking proves nothing, nothing is done.
//!
//! May use: `access`, `cache`, `context`, `oauth` (the keyring), `refusal`, `run`, `settings`, `store`, `units`, `v2`.

pub mod answer;
mod key;

pub use key::Key;

use crate::cache::{Bounds, Cache};
use crate::oauth::Keyring;
use crate::refusal::Refusal;
use crate::run::{Job, Looked};
use crate::settings::IdempotencySettings;
use crate::store::{Attempt, Repeatable, RepeatableBounds, RepeatableRequest, Store};
use crate::units::{micros, now_micros};
use crate::v2::Reply;
use answer::Sealer;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// Time from one sweep to the next.
const SWEEP: Duration = Duration::from_secs(10 * 60);
/// Time that an attempt may take beyond the deadline of a write.
const MARGIN: Duration = Duration::from_secs(5);
/// Number of remembered records that requests without a key created.
const MADE: u64 = 100_000;

/// Stores the outcomes of requests; cheap to clone.
#[derive(Debug, Clone)]
pub struct Idempotency(Arc<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    store: Store,
    sealer: Sealer,
    bounds: RepeatableBounds,
    /// Records that requests without a key created in this process.
    made: Cache<Uuid, ()>,
}

/// A request under way, with its key and its row in the store.
struct Repeated {
    kept: Idempotency,
    attempt: Attempt,
    key: Key,
}

impl Idempotency {
    /// Stores outcomes in `store`. A write takes at most `longest`, and v1 may carry it out up to `late_write` later.
    pub fn new(
        store: Store,
        keyring: Option<Keyring>,
        settings: &IdempotencySettings,
        longest: Duration,
        late_write: Duration,
    ) -> Self {
        let bounds = RepeatableBounds {
            keep: micros(settings.keep),
            // A write waits for its turn at most as long as its execution may take.
            attempt: micros(2 * longest + MARGIN),
            late: micros(late_write),
            per_person: i64::try_from(settings.per_person).unwrap_or(i64::MAX),
            per_person_size: i64::try_from(settings.per_person_size).unwrap_or(i64::MAX),
        };
        // Without a time limit, because a reload may make the time longer for which requests are kept.
        let made = Cache::new(Bounds::of(MADE).keeping_recent());
        Self(Arc::new(Inner { store, sealer: Sealer::new(keyring), bounds, made }))
    }

    /// Returns the same service, in which the records stay known that requests without a key created through `before`.
    #[must_use]
    pub fn following(self, before: &Self) -> Self {
        Self(Arc::new(Inner { made: before.0.made.clone(), ..Inner::clone(&self.0) }))
    }

    /// Notes the record that a request without a key created, so that it is not taken for one of a request with a key.
    /// After a refusal this is the record that v1 told (`created`).
    pub fn made_without_key(&self, answer: &Result<Reply, Refusal>, created: Option<Uuid>) {
        if let Some(id) = answer::record_of(answer).or(created) {
            self.0.made.insert(id, ());
        }
    }

    /// Removes expired rows, again and again.
    pub async fn sweep(self) {
        loop {
            tokio::time::sleep(SWEEP).await;
            match self.0.store.sweep_repeatable().await {
                Ok(swept) => tracing::debug!(swept, "requests that were kept long enough are forgotten"),
                Err(fault) => tracing::warn!(%fault, "requests that were kept long enough could not be removed"),
            }
        }
    }

    /// Carries `job` out, unless this was done for the same key; `query` is that of the request.
    ///
    /// # Errors
    /// 422 for another request with this key; 409 while it runs; 429 when too much is stored for the credential; 502 when
    /// its outcome is unknown; otherwise the refusal of this request, or of the first one with this key.
    pub async fn answer(&self, job: Job, key: Key, query: &str) -> Result<Reply, Refusal> {
        // A caller that has lost the permission learns nothing about the outcome.
        job.check_role().await?;
        let body = match &job.call.body {
            Ok(body) => body,
            Err(_) if job.takes_body() => return job.run().await,
            // A request whose body cannot be compared with that of a repetition is not carried out with a key.
            Err(refusal) => return Err(refusal.clone()),
        };
        // A client may write the ids of one path in either case.
        let path = format!("/{}", job.operation().path.fill_known(|name| job.variable(name)));
        let request = RepeatableRequest {
            id: key.place(&job.call.caller, &job.operation().id, &path),
            user: job.call.caller.user.id,
            credential: job.call.caller.credential,
            fingerprint: key::fingerprint(&path, query, body),
        };
        // Begun in the task that survives the client: otherwise a key could stay taken although no attempt runs. The end
        // of the process waits for all of the task, so that its outcome is noted.
        let done = job.runner().spawn_write(self.clone().begin(job, key, request)).await;
        done.unwrap_or_else(|gone| Err(Refusal::internal(format!("a request that may be repeated ended: {gone}"))))
    }

    async fn begin(self, mut job: Job, key: Key, request: RepeatableRequest) -> Result<Reply, Refusal> {
        let place = request.id.clone();
        let repeated = |attempt| Repeated { kept: self.clone(), attempt, key: key.clone() };
        let found = self.0.store.begin_repeatable(request, &self.0.bounds).await?;
        if matches!(found, Repeatable::Unknown(_) | Repeatable::Running(_) | Repeatable::Done(_)) {
            // An earlier attempt may have been carried out, whatever becomes of this one.
            job.call.ctx.meter.begin_to_write();
        }
        if !matches!(found, Repeatable::New(_) | Repeatable::Unknown(_)) {
            job.check_permission_again().await?;
        }
        match found {
            Repeatable::New(attempt) => repeated(attempt).carry_out(job).await,
            Repeatable::Unknown(attempt) => repeated(attempt).find_out(job).await,
            Repeatable::Done(kept) => {
                job.call.ctx.meter.replay();
                self.0.sealer.open(&kept, &key, &place).await
            }
            Repeatable::Running(left) => {
                Err(Refusal::IdempotencyInProgress { retry_after: look_again(self.0.bounds.attempt, left) })
            }
            Repeatable::Other => Err(Refusal::IdempotencyKeyReused),
            Repeatable::Full(left) => Err(Refusal::RateLimited {
                retry_after: u64::try_from(left / 1_000_000).unwrap_or_default() + 1,
                detail: "As many requests with an Idempotency-Key are kept for you as may be; nothing was done. Wait, or \
                         send the request without the header."
                    .into(),
            }),
        }
    }
}

impl Repeated {
    async fn carry_out(self, job: Job) -> Result<Reply, Refusal> {
        let (written, created, own) = (job.written(), job.created_record(), job.is_own());
        let refused = job.refused_value();
        let answer = job.run().await;
        // The answer to a commit can be lost too; apart from that, the own store writes all or nothing.
        let written = written() || (own && matches!(answer, Err(Refusal::StoreUnavailable { .. })));
        self.settle(answer, written, created(), refused()).await
    }

    /// Notes the outcome of an attempt; `written` means that something may have been written, `created` is the record
    /// that v1 told, and `refused` means that v1 refused a part, without which the rest was sent again.
    async fn settle(
        &self,
        answer: Result<Reply, Refusal>,
        written: bool,
        created: Option<Uuid>,
        refused: bool,
    ) -> Result<Reply, Refusal> {
        let inner = &self.kept.0;
        let noted = match &answer {
            Err(refusal) if is_unknown(refusal, written) => {
                let until = now_micros() + inner.bounds.late;
                inner.store.leave_unknown(&self.attempt, until, created, refused).await
            }
            Err(_) if !written => inner.store.free_repeatable(&self.attempt).await,
            _ => match inner.sealer.seal(&answer, &self.key, &self.attempt.request.id) {
                Some(kept) => inner.store.keep_answer(&self.attempt, &kept, answer::record_of(&answer)).await,
                None => inner.store.free_repeatable(&self.attempt).await,
            },
        };
        if let Err(fault) = noted {
            tracing::warn!(%fault, "the outcome of a repeatable request could not be noted");
        }
        answer
    }

    /// Looks for the outcome of the earlier attempt; repeats the request only when it was certainly not carried out.
    async fn find_out(self, mut job: Job) -> Result<Reply, Refusal> {
        let inner = &self.kept.0;
        let Attempt { began_at, earlier_until: until, record, refused, .. } = self.attempt;
        // Records of the own store do not show who created them.
        let everybody = job.is_own();
        let looked = async {
            let (others, ambiguous) = inner.store.records_of_others(&self.attempt, everybody).await?;
            let is_anothers = |id: &Uuid| others.contains(id) || inner.made.contains(id);
            job.look_up(began_at, until, record, refused, &is_anothers, ambiguous).await
        };
        let refusal = match looked.await {
            Ok(Looked::Found(reply)) => {
                let answer = self.settle(Ok(reply), true, None, false).await?;
                job.check_permission_again().await?;
                job.call.ctx.meter.replay();
                return Ok(answer);
            }
            Ok(Looked::Absent) => return self.carry_out(job).await,
            Ok(Looked::NotKnown) => {
                let what = "An earlier request with this Idempotency-Key ended without an answer, and looking does not \
                            tell what became of it; nothing was done.";
                Refusal::outcome_unknown(what, "the outcome of a repeated request is not known", false)
            }
            // It says what was changed, or which record may be the result.
            Err(refusal @ Refusal::OutcomeUnknown { .. }) => refusal,
            // The refusal of the look-up would say that nothing was changed, or that the request can be sent again.
            Err(refusal) if refusal.status() >= 500 || matches!(refusal, Refusal::RateLimited { .. }) => {
                let what = "An earlier request with this Idempotency-Key ended without an answer, and what became of it \
                            could not be looked up; nothing was done now.";
                Refusal::outcome_unknown(what, format!("the look-up failed: {refusal:?}"), false)
            }
            Err(refusal) => refusal,
        };
        if let Err(fault) = inner.store.leave_unknown(&self.attempt, until, record, refused).await {
            tracing::warn!(%fault, "the unknown outcome of a request could not be noted");
        }
        Err(refusal)
    }
}

/// Returns the seconds after which to ask again for an attempt that may take `longest` in all and `left` from now on
/// (both in microseconds): half of the time that it has taken. Most attempts end at once, and after a process has died
/// its attempt should not be asked for every second.
fn look_again(longest: i64, left: i64) -> u64 {
    let seconds = |micros: i64| u64::try_from(micros / 1_000_000).unwrap_or_default();
    (seconds(longest - left) / 2).min(seconds(left) + 1).max(1)
}

/// Checks whether the outcome of a request that ended with this refusal is unknown.
fn is_unknown(refusal: &Refusal, written: bool) -> bool {
    match refusal {
        Refusal::OutcomeUnknown { .. } => true,
        // v1 was not reached, or did not accept the request.
        Refusal::UpstreamUnavailable { .. } | Refusal::RateLimited { .. } => false,
        other => written && other.status() >= 500,
    }
}

#[cfg(test)]
mod tests {
    use super::look_again;

    #[test]
    fn the_longer_an_attempt_takes_the_later_it_is_asked_for() {
        let second = 1_000_000;
        let longest = 65 * second;
        let after = |seconds: i64| look_again(longest, longest - seconds * second);
        assert_eq!([0, 1, 2, 10, 40, 60, 65].map(after), [1, 1, 1, 5, 20, 6, 1]);
    }
}

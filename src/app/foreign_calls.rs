//! Observes calls of the pass-through. May use: `context`, `edge`, `fresh`, `limits`, `tally`, `v1`; it is composition.

use crate::context::Context;
use crate::edge::{CallInFlight, CallObserver};
use crate::fresh::{Changed, Changes};
use crate::limits::Limits;
use crate::tally::{Called, Calls, Outcome};
use crate::v1::{self, Breaker, Budget, KeyId};
use http::HeaderMap;
use std::sync::Arc;
use std::time::Instant;

/// Observer of pass-through calls: counts them in the budget of their key, and notes the health of v1 and the keys that
/// it accepts.
pub(super) struct ForeignCalls {
    pub budget: Budget,
    pub breaker: Breaker,
    pub changes: Changes,
    pub limits: Arc<Limits>,
    pub calls: Arc<Calls>,
}

impl CallObserver for ForeignCalls {
    fn sent(&self, headers: &HeaderMap, context: &Context) -> Box<dyn CallInFlight> {
        let key = KeyId::passed(headers, &context.meter);
        let permit = key.map(|key| self.budget.observe(key));
        let counted = Counted { calls: Arc::clone(&self.calls), outcome: Outcome::Left, began: Instant::now() };
        let (changes, limits) = (self.changes.clone(), Arc::clone(&self.limits));
        Box::new(ForeignCall { permit, pass: self.breaker.observe(), key, changes, limits, counted })
    }
}

/// Counts a call when it is dropped, with the outcome that is known by then.
struct Counted {
    calls: Arc<Calls>,
    outcome: Outcome,
    began: Instant,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.calls.add(Called::PassThrough, false, self.outcome, self.began.elapsed());
    }
}

struct ForeignCall {
    permit: Option<v1::budget::Permit>,
    pass: v1::Pass,
    key: Option<KeyId>,
    changes: Changes,
    limits: Arc<Limits>,
    counted: Counted,
}

impl CallInFlight for ForeignCall {
    fn answered(mut self: Box<Self>, status: u16, headers: &HeaderMap) {
        // After any other 429, v1 may accept other calls of the key, and may have counted this one: a dropped permit is
        // counted.
        if let Some(permit) = self.permit.filter(|_| status != 429 || v1::is_of_the_throttle(headers)) {
            permit.answered(&v1::told(status, headers));
        }
        self.counted.outcome = Outcome::of_status(status);
        self.pass.ended(v1::Ended::of_status(status));
        if let Some(key) = self.key.filter(|_| matches!(status, 401 | 403 | 404)) {
            // The answer may mean that the key has lost access.
            self.changes.tell(Changed::Refused(key.0));
        }
        if let Some(key) = self.key.filter(|_| v1::accepts_the_key(status, headers)) {
            self.limits.attempts.proven(key.0);
        }
    }

    fn unanswered(mut self: Box<Self>, why: Outcome) {
        self.counted.outcome = why;
        if why == Outcome::Unreachable {
            // v1 has not received it, so it does not count against the quota.
            if let Some(permit) = self.permit {
                permit.not_sent();
            }
            self.pass.ended(v1::Ended::Unreachable);
        }
    }
}

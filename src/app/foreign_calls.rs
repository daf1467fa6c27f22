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
/// it accepts. Anyone can invent a key, so one that v1 was not seen to accept counts in no budget and voids nothing
/// until an answer of v1 accepts it.
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
        if key.is_some() {
            self.budget.note_foreign();
        }
        let permit = key.filter(|key| self.limits.attempts.knows(key.0)).map(|key| self.budget.observe(key));
        let counted = Counted { calls: Arc::clone(&self.calls), outcome: Outcome::Left, began: Instant::now() };
        let (budget, changes, limits) = (self.budget.clone(), self.changes.clone(), Arc::clone(&self.limits));
        Box::new(ForeignCall { budget, permit, pass: self.breaker.observe(), key, changes, limits, counted })
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
    budget: Budget,
    /// None while it is unknown whether v1 accepts the key.
    permit: Option<v1::budget::Permit>,
    pass: v1::Pass,
    key: Option<KeyId>,
    changes: Changes,
    limits: Arc<Limits>,
    counted: Counted,
}

impl CallInFlight for ForeignCall {
    fn answered(mut self: Box<Self>, status: u16, headers: &HeaderMap) {
        let attempts = &self.limits.attempts;
        if let Some(key) = self.key.filter(|_| v1::accepts_the_key(status, headers)) {
            attempts.proven(key.0);
        }
        let known = self.key.filter(|key| attempts.knows(key.0));
        let permit = match (self.permit.take(), known) {
            (None, Some(key)) => Some(self.budget.observe(key)),
            (permit, _) => permit,
        };
        let is_of_a_proxy = status == 429 && !v1::is_of_the_throttle(headers);
        match permit {
            // v1 may accept other calls of the key. If it has counted this one, its next figures say so.
            Some(permit) if is_of_a_proxy => permit.not_sent(),
            Some(permit) => permit.answered(&v1::told(status, headers)),
            None => {}
        }
        self.counted.outcome = Outcome::of_status(status);
        self.pass.ended(v1::Ended::of_status(status));
        if let Some(key) = known.filter(|_| matches!(status, 401 | 403 | 404)) {
            // The answer may mean that the key has lost access.
            self.changes.tell(Changed::Refused(key.0));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fresh::Moment;
    use crate::settings::Settings;
    use crate::v1::{API_KEY, BudgetSettings, Quota};
    use http::HeaderValue;
    use http::header::CONTENT_TYPE;
    use std::time::Duration;

    fn calls() -> ForeignCalls {
        let (window, quota, total) = (Duration::from_secs(60), Quota::Fixed(20), Quota::Fixed(20));
        let settings =
            BudgetSettings { window, quota, service_quota: quota, total, write_reserve: 0, service: None };
        ForeignCalls {
            budget: Budget::new(settings),
            breaker: Breaker::default(),
            changes: Changes::default(),
            limits: Arc::new(Limits::new(&Settings::default().limits.rate)),
            calls: Arc::new(Calls::new(Vec::new())),
        }
    }

    fn send(calls: &ForeignCalls, key: &str) -> Box<dyn CallInFlight> {
        let headers = HeaderMap::from_iter([(API_KEY, HeaderValue::from_str(key).unwrap())]);
        calls.sent(&headers, &Context::new("r", Duration::from_secs(30)))
    }

    fn json() -> HeaderMap {
        HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))])
    }

    fn is_refused(calls: &ForeignCalls, key: &str, since: Moment) -> bool {
        calls.changes.is_void(&[Changed::Refused(KeyId::of(key.as_bytes()).0)], since)
    }

    #[tokio::test]
    async fn invented_keys_count_nowhere_and_void_nothing_whatever_becomes_of_their_calls() {
        let calls = calls();
        let since = calls.changes.now();
        let in_flight: Vec<_> = (0..40).map(|number| send(&calls, &format!("in-flight-{number}"))).collect();
        for (number, status) in [401, 403, 404].into_iter().cycle().take(40).enumerate() {
            let key = format!("refused-{number}");
            send(&calls, &key).answered(status, &json());
            send(&calls, &format!("unanswered-{number}")).unanswered(Outcome::Timeout);
            assert!(!is_refused(&calls, &key, since), "{status}");
        }
        let ada = KeyId::of(b"ada");
        assert_eq!((calls.budget.figures().keys, calls.budget.is_short(ada)), (0, false));
        assert!(calls.budget.is_foreign_within(Duration::from_secs(60)), "they are calls of v1 all the same");
        drop(in_flight);
    }

    #[tokio::test]
    async fn a_key_counts_from_the_first_answer_that_accepts_it() {
        let calls = calls();
        let since = calls.changes.now();
        let ada = KeyId::of(b"ada");
        let left = || calls.budget.figures().clients;
        let early = send(&calls, "ada");
        assert_eq!(left(), None);
        send(&calls, "ada").answered(200, &json());
        assert_eq!(left(), Some(19));
        early.answered(500, &json());
        assert_eq!(left(), Some(18), "it was under way when v1 accepted the key");
        let under_way = send(&calls, "ada");
        assert_eq!(left(), Some(17));
        under_way.answered(403, &json());
        assert!(is_refused(&calls, "ada", since) && calls.limits.attempts.knows(ada.0));
    }

    #[tokio::test]
    async fn a_429_that_is_not_of_v1_uses_nothing_however_often_it_comes() {
        let calls = calls();
        send(&calls, "ada").answered(200, &json());
        for _ in 0..40 {
            send(&calls, "ada").answered(429, &HeaderMap::new());
        }
        assert_eq!(calls.budget.figures().clients, Some(19));
        assert!(!calls.budget.is_short(KeyId::of(b"ada")), "nor of the quota of all keys");
    }
}

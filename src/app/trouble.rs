//! What is known of v1, told to `/readyz`, and learned from what passes through.
//!
//! May use: `context`, `edge`, `fresh`, `refusal`, `settings`, `store`, `tally`, `v1`; it is composition.

use crate::context::Context;
use crate::edge::{CallObserver, CallUnderWay, Condition, Readiness};
use crate::fresh::{Changed, Changes};
use crate::refusal::Refusal;
use crate::settings::ReadySettings;
use crate::store::Store;
use crate::tally::{Called, Calls, Outcome};
use crate::v1::{self, Breaker, Budget, Health, KeyId};
use futures_util::future::BoxFuture;
use http::HeaderMap;
use std::sync::Arc;
use std::time::Instant;

/// Ready means: the store can be read, and written and v1 used where that is asked for.
pub(super) struct Ready {
    pub store: Store,
    pub breaker: Breaker,
    pub needs: ReadySettings,
}

impl Readiness for Ready {
    fn ready(&self) -> BoxFuture<'static, Result<Condition, Refusal>> {
        let (store, health, needs) = (self.store.clone(), self.breaker.health(), self.needs);
        Box::pin(async move {
            store.ping().await?;
            let kept = match store.is_read_only() {
                true if needs.needs_writes => {
                    return Err(Refusal::StoreUnavailable { cause: "the store can only be read".into() });
                }
                true => "read-only",
                false => "ok",
            };
            let (v1, since) = match health {
                Health::Ok => ("ok", None),
                Health::Unknown => ("unknown", None),
                Health::Unreachable(_) if needs.needs_v1 => return Err(Refusal::unavailable("v1 cannot be used")),
                Health::Unreachable(since) => ("unreachable", Some(since.as_secs())),
            };
            Ok(Condition { status: "ready", store: Some(kept), v1: Some(v1), v1_unreachable_seconds: since })
        })
    }
}

/// Calls that pass through count in the budget of their key, and tell how v1 is.
pub(super) struct ForeignCalls {
    pub budget: Budget,
    pub breaker: Breaker,
    pub changes: Changes,
    pub calls: Arc<Calls>,
}

impl CallObserver for ForeignCalls {
    fn sent(&self, headers: &HeaderMap, context: &Context) -> Box<dyn CallUnderWay> {
        let key = KeyId::passed(headers, &context.meter);
        let permit = key.map(|key| self.budget.observe(key));
        let (changes, calls) = (self.changes.clone(), Arc::clone(&self.calls));
        Box::new(ForeignCall { permit, pass: self.breaker.observe(), key, changes, calls, began: Instant::now() })
    }
}

struct ForeignCall {
    permit: Option<v1::budget::Permit>,
    pass: v1::Pass,
    key: Option<KeyId>,
    changes: Changes,
    calls: Arc<Calls>,
    began: Instant,
}

impl CallUnderWay for ForeignCall {
    fn answered(self: Box<Self>, status: u16, headers: &HeaderMap) {
        if let Some(permit) = self.permit {
            permit.answered(&v1::told(status, headers));
        }
        self.calls.add(Called::PassThrough, false, Outcome::of_status(status), self.began.elapsed());
        self.pass.ended(v1::Ended::of_status(status));
        if let Some(key) = self.key.filter(|_| matches!(status, 401 | 403 | 404)) {
            // It may be about what the key was allowed to see.
            self.changes.tell(Changed::Refused(key.0));
        }
    }

    fn unreachable(self: Box<Self>) {
        self.calls.add(Called::PassThrough, false, Outcome::Unreachable, self.began.elapsed());
        self.pass.ended(v1::Ended::Unreachable);
    }
}

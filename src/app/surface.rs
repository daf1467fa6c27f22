//! The parts as the HTTP surface wants them: the v2 operations, what may pass through and is learned from it, what is told
//! to `/readyz`, the door for hints; and events of the authorization server, counted on their way to the audit log.
//!
//! May use: `access`, `context`, `edge`, `fresh`, `hints`, `oauth`, `refusal`, `request`, `run`, `settings`, `store`,
//! `tally`, `v1`; it is composition.

use crate::access::credential::presents_own;
use crate::context::Context;
use crate::edge::{Body, CallObserver, CallUnderWay, Condition, Pages, Readiness, V2Answer, V2Service, read_body};
use crate::fresh::{Changed, Changes};
use crate::hints::{HintDoor, HintSecrets, SecretsError};
use crate::oauth::{Event, Events, Origin, What};
use crate::refusal::Refusal;
use crate::request::V2;
use crate::run::{Runner, touched};
use crate::settings::{HintSettings, ReadySettings};
use crate::store::Store;
use crate::tally::{Called, Calls, Counter, Outcome};
use crate::v1::{self, Breaker, Budget, Health, KeyId, V1Key};
use futures_util::future::BoxFuture;
use http::{HeaderMap, Request};
use std::sync::Arc;
use std::time::Instant;
use strum::VariantNames;

pub(super) struct Operations {
    pub(super) v2: Arc<V2>,
    pub(super) body_limit: usize,
}

impl V2Service for Operations {
    fn answer(&self, request: Request<Body>, context: Context) -> BoxFuture<'static, Result<V2Answer, Refusal>> {
        let (v2, limit) = (Arc::clone(&self.v2), self.body_limit);
        Box::pin(async move {
            let (head, body) = request.into_parts();
            v2.answer(head, read_body(body, limit), context).await
        })
    }
}

/// A secret that the gateway gave out itself is of no use at v1, and v1 must not learn of it.
pub(super) fn keys_of_v1_only(headers: &HeaderMap) -> Result<(), Refusal> {
    if !presents_own(headers) {
        return Ok(());
    }
    Err(Refusal::misplaced_token(
        "Keys and tokens of this gateway open /api/v2/ only; /api/v1/ takes keys of the service behind.",
    ))
}

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

/// The door for hints from v1's webhooks; none without secrets, or without a key to look with.
pub(super) fn hint_door(
    settings: &HintSettings,
    runner: &Arc<Runner>,
    key: Option<V1Key>,
) -> Result<Option<Arc<dyn Pages>>, SecretsError> {
    let Some(file) = &settings.secrets_file else { return Ok(None) };
    let secrets = HintSecrets::read(file)?;
    let Some(key) = key else {
        tracing::warn!(
            "hints.secrets_file does nothing without upstream.service_key: there is no key to look with"
        );
        return Ok(None);
    };
    let (runner, hints) = (Arc::clone(runner), Arc::default());
    let hinted = move |project| touched(&runner, &hints, &key, project);
    Ok(Some(Arc::new(HintDoor::new(secrets, Arc::new(hinted)))))
}

/// Counters of all events, by their number.
pub(super) fn counters() -> Arc<[Counter]> {
    What::VARIANTS.iter().map(|_| Counter::default()).collect()
}

pub(super) struct Counted<E> {
    pub(super) on: E,
    pub(super) counters: Arc<[Counter]>,
}

impl<E: Events> Events for Counted<E> {
    fn happened<'e>(&'e self, event: &'e Event, from: Option<&'e Origin>) -> BoxFuture<'e, ()> {
        if let Some(counter) = self.counters.get(event.what.number()) {
            counter.add(1);
        }
        self.on.happened(event, from)
    }
}

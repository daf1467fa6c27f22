//! The checks of `/readyz`. May use: `edge`, `refusal`, `settings`, `store`, `v1`; it is composition.

use crate::edge::{Condition, Readiness};
use crate::refusal::Refusal;
use crate::settings::ReadySettings;
use crate::store::Store;
use crate::v1::{Breaker, Health};
use futures_util::future::BoxFuture;

/// Checks readiness: the store can be read, or is a database that does not answer at present, because reads continue
/// then. Where required, also that the store can be written and v1 used.
pub(super) struct Ready {
    pub store: Store,
    pub breaker: Breaker,
    pub needs: ReadySettings,
}

impl Readiness for Ready {
    fn ready(&self) -> BoxFuture<'static, Result<Condition, Refusal>> {
        let (store, health, needs) = (self.store.clone(), self.breaker.health(), self.needs);
        Box::pin(async move {
            let kept = match store.ping().await {
                Ok(()) if !store.is_read_only() => "ok",
                Ok(()) if needs.needs_writes => {
                    return Err(Refusal::StoreUnavailable { cause: "the store can only be read".into() });
                }
                Ok(()) => "read-only",
                Err(_) if store.away_since().is_some() && !needs.needs_writes => "unreachable",
                Err(fault) => return Err(fault.into()),
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

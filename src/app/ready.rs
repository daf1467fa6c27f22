//! The checks of `/readyz`. May use: `edge`, `refusal`, `settings`, `store`, `v1`; it is composition.

use crate::edge::{Condition, Readiness};
use crate::refusal::Refusal;
use crate::settings::ReadySettings;
use crate::store::Store;
use crate::v1::{Breaker, Health};
use futures_util::future::BoxFuture;

/// Checks readiness: the store can be read, and, where required, the store can be written and v1 used.
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

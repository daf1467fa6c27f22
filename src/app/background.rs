//! Background tasks, which end with the service that started them.
//!
//! May use: `store`, `task`, `units`, `v1`; it is composition.

use crate::store::Store;
use crate::task::spawn;
use crate::units::{micros, now_micros};
use crate::v1::Budget;
use std::time::Duration;
use tokio_util::task::AbortOnDropHandle;

/// Time between two log lines about v1's quota.
const REPORT: Duration = Duration::from_secs(60);
/// Time from the start to the first removal of old settled writes and old tokens.
const FIRST: Duration = Duration::from_secs(60);
/// Time between two removals.
const FORGET: Duration = Duration::from_secs(3600);
/// Time for which expired codes and tokens stay, so that their misuse is still recognised.
const EXPIRED_KEPT: Duration = Duration::from_secs(7 * 24 * 3600);
/// Time for which a client that registered itself stays without a grant.
const UNUSED_KEPT: Duration = Duration::from_secs(24 * 3600);
/// Most pairs of operation and credential in a log line about v1's quota.
const MOST_REPORTED: usize = 10;

/// Starts a task that ends when the returned value is dropped.
pub(super) fn until_dropped(work: impl Future<Output = ()> + Send + 'static) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(spawn(work))
}

/// Removes from the store, again and again, what ended long ago: settled writes, and codes, tokens and grants, and
/// clients that registered themselves and that nobody has allowed. So these are removed even when apps only refresh
/// their tokens and nobody grants anything new.
pub(super) async fn forget_ended(store: Store) {
    tokio::time::sleep(FIRST).await;
    loop {
        if !store.is_read_only() {
            if let Err(fault) = store.forget_settled().await {
                tracing::debug!(%fault, "settled writes could not be forgotten");
            }
            if let Err(fault) = store.oauth().prune(now_micros() - micros(EXPIRED_KEPT)).await {
                tracing::warn!(%fault, "expired tokens could not be removed");
            }
            if let Err(fault) = store.oauth().forget_unused_clients(now_micros() - micros(UNUSED_KEPT)).await {
                tracing::warn!(%fault, "unused clients could not be removed");
            }
        }
        tokio::time::sleep(FORGET).await;
    }
}

/// Logs who has used v1's quota, once a minute when there were calls.
pub(super) async fn report_spending(budget: Budget) {
    loop {
        tokio::time::sleep(REPORT).await;
        let shares = budget.spent().since_last_report();
        let calls: u64 = shares.iter().map(|share| share.calls).sum();
        if calls == 0 {
            continue;
        }
        let most = shares.iter().take(MOST_REPORTED).map(|share| {
            let (credential, operation) = (share.spender.credential, &share.spender.operation);
            format!("{operation} of {credential:016x}: {}", share.calls)
        });
        let most = most.collect::<Vec<_>>().join(", ");
        tracing::info!(calls, most, "v1 calls of the last minute");
    }
}

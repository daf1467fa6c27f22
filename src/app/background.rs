//! Work beside the requests, which ends with the service that began it.
//!
//! May use: `store`, `units`, `v1`; it is composition.

use crate::store::Store;
use crate::units::{micros, now_micros};
use crate::v1::Budget;
use std::time::Duration;
use tokio_util::task::AbortOnDropHandle;

/// Time from one line about v1's quota to the next.
const REPORT: Duration = Duration::from_secs(60);
/// Time from the start to the first look for settled writes, and for tokens, that are old.
const FIRST: Duration = Duration::from_secs(60);
/// Time from one such look to the next.
const FORGET: Duration = Duration::from_secs(3600);
/// How long expired codes and tokens stay, so that their misuse is still recognised.
const EXPIRED_KEPT: Duration = Duration::from_secs(7 * 24 * 3600);
/// Pairs of operation and credential in such a line.
const MOST_REPORTED: usize = 10;

/// Work that ends when what is returned is dropped.
pub(super) fn until_dropped(work: impl Future<Output = ()> + Send + 'static) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(work))
}

/// Has the store forget, again and again, what ended long ago: settled writes, and codes, tokens and grants. These also
/// where apps only refresh what they were given and nobody allows anything new.
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
        }
        tokio::time::sleep(FORGET).await;
    }
}

/// Says in the log who has spent v1's quota, once a minute when anybody has.
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

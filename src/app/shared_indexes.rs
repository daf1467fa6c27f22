//! Indices that gateway processes build and refresh for each other, stored in their shared store.
//!
//! May use: `index`, `store`; it is composition.

use crate::index::{Deployment, Turn};
use crate::store::{DeltaTurn, Store, StoredDelta, TakenTurn};
use futures_util::future::BoxFuture;
use std::time::Duration;
use tokio::time::timeout;

/// Time limit of a statement that a refresh waits for. Without its answer the process asks v1 itself.
const QUICK: Duration = Duration::from_millis(250);
/// Time limit of a statement that sends the rows read from v1.
const SENDING: Duration = Duration::from_secs(1);

/// The store as the place where processes find each other's indices.
pub(super) struct SharedIndexes(pub Store);

impl Deployment for SharedIndexes {
    fn load(&self, name: String) -> BoxFuture<'static, Option<Vec<u8>>> {
        let store = self.0.clone();
        Box::pin(async move { store.snapshot(&name).await.ok().flatten() })
    }

    fn save(&self, name: String, bytes: Vec<u8>, age: Duration) -> BoxFuture<'static, ()> {
        let store = self.0.clone();
        Box::pin(async move {
            if let Err(fault) = store.keep_snapshot(&name, &bytes, age).await {
                tracing::warn!(%fault, "an index could not be kept for other gateway processes");
            }
        })
    }

    fn alone(&self, name: String) -> BoxFuture<'static, Turn> {
        let store = self.0.clone();
        Box::pin(async move {
            match store.try_cluster_lock(&name).await {
                Ok(Some(alone)) => Turn::Mine(Box::new(alone)),
                Ok(None) => Turn::Others,
                Err(_) => Turn::Unknown,
            }
        })
    }

    fn deltas(&self, name: String, after: i64, within: Duration) -> BoxFuture<'static, Option<Vec<StoredDelta>>> {
        let store = self.0.clone();
        Box::pin(async move { timeout(QUICK, store.deltas(&name, after, within)).await.ok()?.ok() })
    }

    fn refresher(&self, name: String) -> BoxFuture<'static, Option<TakenTurn>> {
        let store = self.0.clone();
        Box::pin(async move { timeout(QUICK, store.take_delta_turn(&name)).await.ok()?.ok() })
    }

    fn renew(&self, name: String, turn: DeltaTurn) -> BoxFuture<'static, ()> {
        let store = self.0.clone();
        Box::pin(async move {
            // A lost turn is noticed later, when the rows read are stored.
            let _ = timeout(SENDING, store.renew_delta_turn(&name, turn.holder)).await;
        })
    }

    fn end(&self, name: String, turn: DeltaTurn, told: Option<Vec<u8>>) -> BoxFuture<'static, Option<i64>> {
        let store = self.0.clone();
        Box::pin(async move {
            match told {
                Some(told) => {
                    timeout(SENDING, store.tell_delta(&name, turn.holder, &told)).await.ok()?.ok().flatten()
                }
                None => {
                    let _ = timeout(QUICK, store.end_delta_turn(&name, turn.holder)).await;
                    None
                }
            }
        })
    }
}

//! Indices that gateway processes build for each other, kept in the store they share.
//!
//! May use: `index`, `store`; it is composition.

use crate::index::{Deployment, Turn};
use crate::store::Store;
use futures_util::future::BoxFuture;
use std::time::Duration;

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
            match store.alone_among_all(&name).await {
                Ok(Some(alone)) => Turn::Own(Box::new(alone)),
                Ok(None) => Turn::Others,
                Err(_) => Turn::Unknown,
            }
        })
    }
}

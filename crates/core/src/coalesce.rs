//! One piece of work for all who ask for the same thing at the same time.
//!
//! Purpose: concurrent first uses of a key, a card or a collection share one v1 call. The work runs as
//! its own task, so a client that disconnects does not take it down and every waiting request is
//! answered (rulings, "Lists, index, cursors").
//!
//! May use: `refusal`. Nothing is remembered here beyond the work under way; caches do that.

use crate::refusal::Refusal;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::sync::Arc;

type Outcome<V> = Result<V, Refusal>;
type Flight<V> = Shared<BoxFuture<'static, Outcome<V>>>;

/// Work under way, by key.
pub struct Coalesce<K, V> {
    flights: Arc<Mutex<HashMap<K, Flight<V>>>>,
}

impl<K, V> Default for Coalesce<K, V> {
    fn default() -> Self {
        Self { flights: Arc::default() }
    }
}

impl<K, V> Clone for Coalesce<K, V> {
    fn clone(&self) -> Self {
        Self { flights: Arc::clone(&self.flights) }
    }
}

impl<K, V> Coalesce<K, V>
where
    K: Hash + Eq + Clone + Send + 'static,
    V: Clone + Send + Sync + 'static,
{
    /// Waits for the work of `key`, starting it with `work` when none is under way.
    ///
    /// # Errors
    /// What the work answers; a panic inside it becomes [`Refusal::Internal`].
    pub async fn run<F>(&self, key: K, work: impl FnOnce() -> F) -> Outcome<V>
    where
        F: Future<Output = Outcome<V>> + Send + 'static,
    {
        let flight = {
            let mut flights = self.flights.lock();
            match flights.get(&key) {
                Some(flight) => flight.clone(),
                None => {
                    let flight = self.start(key.clone(), work());
                    flights.insert(key, flight.clone());
                    flight
                }
            }
        };
        flight.await
    }

    fn start<F>(&self, key: K, work: F) -> Flight<V>
    where
        F: Future<Output = Outcome<V>> + Send + 'static,
    {
        let flights = Arc::clone(&self.flights);
        let task = tokio::spawn(async move {
            let guard = Landing { flights, key };
            let outcome = work.await;
            drop(guard);
            outcome
        });
        async move { task.await.unwrap_or_else(|gone| Err(Refusal::internal(format!("shared work ended: {gone}")))) }
            .boxed()
            .shared()
    }
}

/// Takes the flight off the list when its work ends, also by a panic.
struct Landing<K: Hash + Eq, V> {
    flights: Arc<Mutex<HashMap<K, Flight<V>>>>,
    key: K,
}

impl<K: Hash + Eq, V> Drop for Landing<K, V> {
    fn drop(&mut self) {
        self.flights.lock().remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn a_thousand_waiters_share_one_piece_of_work_even_when_the_first_leaves() {
        let runs = Arc::new(AtomicU32::new(0));
        let coalesce: Coalesce<&str, u32> = Coalesce::default();
        let start = |runs: Arc<AtomicU32>| {
            move || async move {
                tokio::time::sleep(Duration::from_millis(30)).await;
                Ok(runs.fetch_add(1, Ordering::SeqCst) + 1)
            }
        };
        let first = {
            let (coalesce, work) = (coalesce.clone(), start(Arc::clone(&runs)));
            tokio::spawn(async move { coalesce.run("k", work).await })
        };
        tokio::time::sleep(Duration::from_millis(5)).await;
        first.abort();
        let others: Vec<_> = (0..1000)
            .map(|_| {
                let (coalesce, work) = (coalesce.clone(), start(Arc::clone(&runs)));
                tokio::spawn(async move { coalesce.run("k", work).await })
            })
            .collect();
        for other in others {
            assert_eq!(other.await.unwrap(), Ok(1));
        }
        assert_eq!(runs.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn a_panic_is_an_internal_refusal_and_does_not_block_the_key() {
        let coalesce: Coalesce<&str, u32> = Coalesce::default();
        let lost = coalesce.run("k", || async { panic!("boom") }).await;
        assert!(matches!(lost, Err(Refusal::Internal { .. })));
        assert_eq!(coalesce.run("k", || async { Ok(7) }).await, Ok(7));
    }
}

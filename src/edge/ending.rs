//! Tells connections that the gateway ends, and knows when all of them have.
//!
//! hyper's own way closes a connection at once that has been accepted a moment ago and whose first request is on its way.
//! Here such a one is heard first, so that nobody is turned away who came in time.
//!
//! May use: nothing of this crate.

use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// Time for the first request of a connection to begin, once the end has been told.
const FIRST: Duration = Duration::from_secs(1);

/// Tells the end; clones are the same.
#[derive(Clone)]
pub(super) struct Ending(Arc<watch::Sender<bool>>);

/// Hears of the end. As long as there is one, its connection has not ended.
pub(super) struct Told(watch::Receiver<bool>);

impl Default for Ending {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }
}

impl Ending {
    /// For one connection more.
    pub(super) fn listener(&self) -> Told {
        Told(self.0.subscribe())
    }

    /// Connections that have not ended.
    pub(super) fn left(&self) -> usize {
        self.0.receiver_count()
    }

    /// Tells all connections, and waits until they have ended.
    pub(super) async fn end(&self) {
        self.0.send_replace(true);
        self.0.closed().await;
    }
}

impl Told {
    /// Waits for the end, and then until the first request has begun, which `first` tells, unless that takes too long.
    pub(super) async fn wait(&mut self, first: &Notify) {
        // Without anybody to tell it is the end as well.
        let _ = self.0.wait_for(|ended| *ended).await;
        let _ = tokio::time::timeout(FIRST, first.notified()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::Instant;

    #[tokio::test(start_paused = true)]
    async fn the_first_request_is_waited_for_but_not_for_long() {
        let ending = Ending::default();
        let (mut silent, mut spoken) = (ending.listener(), ending.listener());
        let (never, begun) = (Notify::new(), Notify::new());
        begun.notify_one();
        let told = ending.clone();
        let ended = tokio::spawn(async move { told.end().await });
        let began = Instant::now();
        spoken.wait(&begun).await;
        assert!(began.elapsed().is_zero());
        silent.wait(&never).await;
        assert_eq!(began.elapsed(), FIRST);
        assert_eq!(ending.left(), 2);
        drop((silent, spoken));
        ended.await.unwrap();
    }
}

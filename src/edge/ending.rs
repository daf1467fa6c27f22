//! Tells connections that the gateway is stopping, and knows when all of them have ended.
//!
//! hyper's own shutdown closes some connections at once: a new one whose first request is still on its way, and an idle
//! one whose next request is on its way. This file first waits for such requests, so that no request that was sent in
//! time is rejected.
//!
//! May use: `edge::connection`.

use super::connection::Clock;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Time for the first request of a connection to begin, once the gateway is stopping.
const FIRST: Duration = Duration::from_secs(1);
/// Time for the next request of a kept connection to begin. Its client does not know yet that the gateway is stopping
/// and may have sent a request.
const NEXT: Duration = Duration::from_millis(250);

/// Sender of the stop signal; all clones are the same.
#[derive(Clone, Default)]
pub(super) struct Ending(Arc<watch::Sender<bool>>);

/// Receiver of the stop signal. Its connection counts as open until it is dropped.
pub(super) struct ShutdownListener(watch::Receiver<bool>);

impl Ending {
    /// Creates the receiver for one more connection.
    pub(super) fn listener(&self) -> ShutdownListener {
        ShutdownListener(self.0.subscribe())
    }

    /// Returns the number of connections that have not ended.
    pub(super) fn left(&self) -> usize {
        self.0.receiver_count()
    }

    /// Signals the stop to all connections, and waits until they have ended.
    pub(super) async fn end(&self) {
        self.0.send_replace(true);
        self.0.closed().await;
    }
}

impl ShutdownListener {
    /// Waits for the stop signal, and then until `clock` shows a running request, or until that takes too long. The
    /// answer to that request says that it is the last, even when it is ready before this function looks again.
    pub(super) async fn wait(&mut self, clock: &Clock) {
        // A dropped sender means the stop as well.
        let _ = self.0.wait_for(|ended| *ended).await;
        clock.end_soon();
        let patience = match clock.is_asked() {
            false => FIRST,
            // HTTP/2 has its own message that no more requests are accepted.
            true if clock.is_http2() => return,
            true => NEXT,
        };
        if tokio::time::timeout(patience, clock.next_request()).await.is_err() {
            // With little processor time the wait can be over before the socket was read. Yielding makes the runtime
            // read the socket first.
            tokio::task::yield_now().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use tokio::time::Instant;

    #[tokio::test(start_paused = true)]
    async fn a_request_is_waited_for_but_not_for_long() {
        let ending = Ending::default();
        let clock = || Clock::start(&Settings::default().listen);
        let (silent, kept, busy) = (clock(), clock(), clock());
        drop(kept.request());
        let running = busy.request();
        let mut told = [ending.listener(), ending.listener(), ending.listener()];
        let teller = ending.clone();
        let ended = tokio::spawn(async move { teller.end().await });
        let began = Instant::now();
        told[0].wait(&busy).await;
        assert!(began.elapsed().is_zero());
        told[1].wait(&kept).await;
        assert_eq!(began.elapsed(), NEXT);
        told[2].wait(&silent).await;
        assert_eq!(began.elapsed(), NEXT + FIRST);
        assert_eq!(ending.left(), 3);
        drop((told, running));
        ended.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_comes_in_time_is_heard() {
        let ending = Ending::default();
        let clock = Clock::start(&Settings::default().listen);
        drop(clock.request());
        let mut told = ending.listener();
        let (teller, next) = (ending.clone(), clock.clone());
        tokio::spawn(async move { teller.end().await });
        let coming = tokio::spawn(async move {
            tokio::time::sleep(NEXT / 2).await;
            let running = next.request();
            assert!(running.is_last);
            tokio::time::sleep(FIRST).await;
        });
        let began = Instant::now();
        told.wait(&clock).await;
        assert_eq!(began.elapsed(), NEXT / 2);
        coming.await.unwrap();
    }
}

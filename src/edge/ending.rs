//! Tells connections that the gateway ends, and knows when all of them have.
//!
//! hyper's own way closes a connection at once that has been accepted a moment ago and whose first request is on its
//! way, or that is kept and whose next one is. Here such ones are heard first, so that nobody is turned away who came
//! in time.
//!
//! May use: `edge::connection`.

use super::connection::Clock;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Time for the first request of a connection to begin, once the end has been told.
const FIRST: Duration = Duration::from_secs(1);
/// The same for the next request of a connection that is kept. Its client has not heard of the end and may have sent
/// one.
const NEXT: Duration = Duration::from_millis(250);

/// Tells the end; clones are the same.
#[derive(Clone, Default)]
pub(super) struct Ending(Arc<watch::Sender<bool>>);

/// Hears of the end. As long as there is one, its connection has not ended.
pub(super) struct Told(watch::Receiver<bool>);

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
    /// Waits for the end, and then until a request runs, which `clock` tells, unless that takes too long. The answer to
    /// it says that it is the last, also when it is there before anybody looks again.
    pub(super) async fn wait(&mut self, clock: &Clock) {
        // When there is nobody left to tell it, that is the end as well.
        let _ = self.0.wait_for(|ended| *ended).await;
        clock.end_soon();
        let patience = match clock.is_asked() {
            false => FIRST,
            // HTTP/2 has a way of its own to say that nothing more is taken.
            true if clock.is_http2() => return,
            true => NEXT,
        };
        if tokio::time::timeout(patience, clock.next_request()).await.is_err() {
            // With little processor time the patience can be over before anybody has looked what there is to read: the
            // runtime looks before it comes back here.
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

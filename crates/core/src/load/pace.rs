//! Tells a slow client from one that only pretends to work.
//!
//! A client that is waited for has a time budget. Waiting spends it, and each byte adds the time that it takes
//! at the required pace, up to the budget at the start. So a client that keeps the pace on average is never cut
//! off, a pause may be as long as the budget at the start, and a burst adds no more than that.
//!
//! May use: nothing of this crate.

use std::time::Duration;
use tokio::time::Instant;

/// The time budget of a client.
#[derive(Debug, Clone)]
pub struct Pace {
    /// Required bytes a second.
    pace: usize,
    /// Budget at the start, which is also its maximum.
    grace: Duration,
    left: Duration,
    /// Beginning of the current wait for the client.
    waiting: Option<Instant>,
}

impl Pace {
    /// Creates the budget of a client that has `grace` and must keep `pace` bytes a second afterwards.
    pub fn new(pace: usize, grace: Duration) -> Self {
        Self { pace: pace.max(1), grace, left: grace, waiting: None }
    }

    /// Begins a wait for the client, unless one has begun already.
    pub fn wait(&mut self) {
        self.waiting.get_or_insert_with(Instant::now);
    }

    /// Ends the wait: `bytes` passed.
    pub fn passed(&mut self, bytes: usize) {
        if let Some(since) = self.waiting.take() {
            self.left = self.left.saturating_sub(since.elapsed());
        }
        let bought = Duration::from_secs_f64(bytes as f64 / self.pace as f64);
        self.left = (self.left + bought).min(self.grace);
    }

    /// Returns the instant at which the budget is spent if the client does nothing; `None` when there is no wait.
    pub fn over_at(&self) -> Option<Instant> {
        self.waiting.map(|since| since + self.left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(10);

    /// Returns how long a client lasts that sends `bytes` each `pause`, at most an hour.
    async fn life(bytes: usize, pause: Duration) -> Duration {
        let (mut pace, began) = (Pace::new(1024, GRACE), Instant::now());
        while began.elapsed() < Duration::from_secs(3600) {
            pace.wait();
            let over = pace.over_at().unwrap();
            if over < Instant::now() + pause {
                return over - began;
            }
            tokio::time::sleep(pause).await;
            pace.passed(bytes);
        }
        began.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn drops_buy_next_to_nothing() {
        assert!(life(1, Duration::from_secs(4)).await < Duration::from_secs(11));
        assert!(life(0, Duration::from_secs(60)).await <= GRACE);
        assert!(life(512, Duration::from_secs(1)).await <= 2 * GRACE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_keeps_the_pace_never_expires() {
        assert!(life(1024, Duration::from_secs(1)).await >= Duration::from_secs(3600));
        assert!(life(9 * 1024, Duration::from_secs(9)).await >= Duration::from_secs(3600));
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_buys_no_more_than_the_grace() {
        let mut pace = Pace::new(1024, GRACE);
        pace.passed(1_000_000_000);
        pace.wait();
        assert_eq!(pace.over_at().unwrap() - Instant::now(), GRACE);
    }

    #[tokio::test(start_paused = true)]
    async fn time_in_which_nobody_waits_costs_nothing() {
        let mut pace = Pace::new(1024, GRACE);
        tokio::time::sleep(Duration::from_secs(3600)).await;
        assert_eq!(pace.over_at(), None);
        pace.wait();
        pace.wait();
        assert_eq!(pace.over_at().unwrap() - Instant::now(), GRACE);
    }
}

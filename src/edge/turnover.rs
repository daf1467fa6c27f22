//! Limits how often a client with a full share of the connections may replace an old connection by a new one.
//!
//! The client of the closed connection connects again. Without a limit, a few addresses with more clients than places
//! would make the gateway open and close connections all the time, each with the first request of its client. A client
//! beyond the limit is rejected before anything is read.
//!
//! May use: `load`.

use crate::load::Holder;
use std::collections::HashMap;
use std::time::Duration;
use tokio::time::Instant;

/// Time after which one more connection may be replaced.
const GAP: Duration = Duration::from_millis(100);
/// Connections that a client may replace at once when it has replaced none lately.
const AT_ONCE: u32 = 20;
/// Number of remembered holders. Beyond it, holders whose full allowance is back are forgotten.
const REMEMBERED: usize = 1024;

/// Recent replacements of each holder.
#[derive(Debug, Default)]
pub(super) struct Turnover {
    /// Per holder, the time when its full allowance is back.
    settled: HashMap<Holder, Instant>,
}

impl Turnover {
    /// Checks whether `holder` may replace a connection now; if so, counts the replacement.
    pub(super) fn may(&mut self, holder: Holder) -> bool {
        let now = Instant::now();
        if self.settled.len() >= REMEMBERED {
            self.settled.retain(|_, settled| *settled > now);
        }
        let settled = self.settled.entry(holder).or_insert(now);
        let next = (*settled).max(now) + GAP;
        let may = next <= now + GAP * AT_ONCE;
        if may {
            *settled = next;
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(last: u8) -> Holder {
        Holder::of_address([10, 0, 0, last].into()).expect("somebody")
    }

    #[tokio::test(start_paused = true)]
    async fn some_at_once_and_then_a_few_a_second_for_each_holder() {
        let mut turnover = Turnover::default();
        let mut at_once = |last| (0..100).filter(|_| turnover.may(holder(last))).count();
        assert_eq!((at_once(1), at_once(2)), (20, 20));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(at_once(1), 10);
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert_eq!(at_once(1), 20);
    }

    #[tokio::test(start_paused = true)]
    async fn holders_without_recent_replacements_are_forgotten() {
        let mut turnover = Turnover::default();
        for number in 0..5000_u32 {
            tokio::time::advance(GAP).await;
            assert!(turnover.may(Holder::Credential(number.into())));
        }
        assert!(turnover.settled.len() <= REMEMBERED, "{}", turnover.settled.len());
    }
}

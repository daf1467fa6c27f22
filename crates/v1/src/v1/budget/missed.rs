//! Calls that v1 has counted and that Redis does not know of, because it was away when they ended.
//!
//! May use: nothing of this crate.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// Most calls of one window. Only calls of the pass-through, which are not held back, can be more.
const MOST: usize = 5_000;

/// The missed calls of one window.
#[derive(Debug, Default)]
pub(super) struct MissedCalls(Mutex<Missed>);

#[derive(Debug, Default)]
struct Missed {
    /// The time until which each call counts, by its number.
    until: BTreeMap<u64, Instant>,
    /// Whether a task waits for Redis to send them.
    is_awaited: bool,
}

impl MissedCalls {
    /// Adds calls that count until this time. Returns whether the caller has to wait for Redis and send them.
    pub fn add(&self, calls: &[u64], until: Instant) -> bool {
        let mut missed = self.0.lock();
        missed.until.extend(calls.iter().map(|number| (*number, until)));
        while missed.until.len() > MOST {
            missed.until.pop_first();
        }
        !std::mem::replace(&mut missed.is_awaited, true)
    }

    /// Returns the calls that still count, each with the time for which it does.
    pub fn counting(&self, now: Instant) -> Vec<(u64, Duration)> {
        let mut missed = self.0.lock();
        missed.until.retain(|_, until| *until > now);
        missed.until.iter().map(|(number, until)| (*number, *until - now)).collect()
    }

    /// Removes calls that Redis knows of now.
    pub fn remove(&self, calls: &[(u64, Duration)]) {
        let mut missed = self.0.lock();
        for (number, _) in calls {
            missed.until.remove(number);
        }
    }

    /// Checks whether any call still counts. Otherwise the waiting for Redis ends.
    pub fn is_any(&self, now: Instant) -> bool {
        let mut missed = self.0.lock();
        missed.is_awaited = missed.until.values().any(|until| *until > now);
        missed.is_awaited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn missed_calls_are_sent_by_one_task_for_as_long_as_they_count() {
        let (missed, now, second) = (MissedCalls::default(), Instant::now(), Duration::from_secs(1));
        assert!(missed.add(&[1, 2], now + second));
        assert!(!missed.add(&[3], now + 3 * second), "one task waits already");
        assert_eq!(missed.counting(now), [(1, second), (2, second), (3, 3 * second)]);
        missed.remove(&[(2, second)]);
        assert_eq!(missed.counting(now + second), [(3, 2 * second)]);
        assert!(missed.is_any(now + 2 * second));
        assert!(!missed.is_any(now + 3 * second));
        assert!(missed.add(&[4], now + 9 * second), "the task has ended");
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_missed_calls_go_first_when_there_are_too_many() {
        let (missed, until) = (MissedCalls::default(), Instant::now() + Duration::from_secs(60));
        missed.add(&(0..MOST as u64 + 2).collect::<Vec<_>>(), until);
        let kept = missed.counting(Instant::now());
        assert_eq!((kept.len(), kept[0].0), (MOST, 2));
    }
}

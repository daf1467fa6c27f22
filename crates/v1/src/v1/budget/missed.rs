//! Calls that v1 has counted and that Redis does not know of, because it was away when they ended.
//!
//! May use: nothing of this crate.

use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;
use tokio::time::Instant;

/// Most calls of one window. Only calls of the pass-through, which are not held back, can be more.
const MOST: usize = 5_000;

/// The missed calls of all windows.
#[derive(Debug, Default)]
pub(super) struct MissedCalls(Mutex<Missed>);

#[derive(Debug, Default)]
struct Missed {
    /// The time until which each call counts, by its number, for each window by its key.
    until: HashMap<String, BTreeMap<u64, Instant>>,
    /// Whether a task waits for Redis to send them.
    is_awaited: bool,
}

impl MissedCalls {
    /// Adds calls of a window that count until this time. Returns whether the caller has to wait for Redis and send the
    /// calls of all windows.
    pub fn add(&self, window: &str, calls: &[u64], until: Instant) -> bool {
        let mut missed = self.0.lock();
        let of_window = missed.until.entry(window.to_owned()).or_default();
        of_window.extend(calls.iter().map(|number| (*number, until)));
        while of_window.len() > MOST {
            of_window.pop_first();
        }
        !std::mem::replace(&mut missed.is_awaited, true)
    }

    /// Returns the calls of a window that still count, each with the time for which it does.
    pub fn counting(&self, window: &str, now: Instant) -> Vec<(u64, Duration)> {
        let missed = self.0.lock();
        let calls = missed.until.get(window).into_iter().flatten().filter(|(_, until)| **until > now);
        calls.map(|(number, until)| (*number, *until - now)).collect()
    }

    /// Removes calls of a window that Redis knows of now.
    pub fn remove(&self, window: &str, calls: &[(u64, Duration)]) {
        if let Some(of_window) = self.0.lock().until.get_mut(window) {
            for (number, _) in calls {
                of_window.remove(number);
            }
        }
    }

    /// Returns the keys of the windows that have missed calls.
    pub fn windows(&self) -> Vec<String> {
        self.0.lock().until.keys().cloned().collect()
    }

    /// Checks whether any call still counts, and forgets windows without one. Without any, the waiting for Redis ends.
    pub fn is_any(&self, now: Instant) -> bool {
        let mut missed = self.0.lock();
        missed.until.retain(|_, calls| calls.values().any(|until| *until > now));
        missed.is_awaited = !missed.until.is_empty();
        missed.is_awaited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_missed_calls_of_all_windows_are_sent_by_one_task_for_as_long_as_they_count() {
        let (missed, now, second) = (MissedCalls::default(), Instant::now(), Duration::from_secs(1));
        assert!(missed.add("ada", &[1, 2], now + second));
        assert!(!missed.add("ada", &[3], now + 3 * second), "one task waits already");
        assert!(!missed.add("bob", &[4], now + second), "for all keys");
        assert_eq!(missed.counting("ada", now), [(1, second), (2, second), (3, 3 * second)]);
        assert_eq!(missed.counting("bob", now), [(4, second)]);
        missed.remove("ada", &[(2, second)]);
        assert_eq!(missed.counting("ada", now + second), [(3, 2 * second)]);
        assert!(missed.is_any(now + 2 * second));
        assert_eq!(missed.windows(), ["ada"]);
        assert!(!missed.is_any(now + 3 * second));
        assert!(missed.add("ada", &[5], now + 9 * second), "the task has ended");
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_missed_calls_go_first_when_there_are_too_many() {
        let (missed, until) = (MissedCalls::default(), Instant::now() + Duration::from_secs(60));
        missed.add("ada", &(0..MOST as u64 + 2).collect::<Vec<_>>(), until);
        let kept = missed.counting("ada", Instant::now());
        assert_eq!((kept.len(), kept[0].0), (MOST, 2));
    }
}

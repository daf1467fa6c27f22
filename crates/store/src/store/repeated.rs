//! Events that were written a moment ago, so that their repetitions are not written.
//!
//! They are in memory and bounded. When there are too many, the least recently used are forgotten, and an event may
//! then be written again within the minute. May use: `cache`.

use crate::cache::{Bounds, Cache};
use std::time::Duration;
use uuid::Uuid;

/// Time for which repetitions are left out.
const WINDOW: Duration = Duration::from_secs(60);
/// Number of events remembered.
const EVENTS: u64 = 10_000;

/// One of the events of a key in a workspace that may be written within the window.
pub(super) type Place = (Uuid, String);

/// Events written within the window; clones share them.
#[derive(Debug, Clone)]
pub(super) struct Repeated {
    seen: Cache<Place, ()>,
}

impl Default for Repeated {
    fn default() -> Self {
        Self::within(WINDOW, EVENTS)
    }
}

impl Repeated {
    fn within(window: Duration, events: u64) -> Self {
        Self { seen: Cache::new(Bounds::of(events).for_time(window).keeping_recent()) }
    }

    /// Takes one of the `most` places of a key for an event, unless all are taken within the window; of several events
    /// at once each takes another.
    pub(super) fn take(&self, workspace: Uuid, key: &str, most: u32) -> Option<Place> {
        (0..most)
            .map(|place| (workspace, format!("{key} {place}")))
            .find(|place| self.seen.insert_new(place.clone(), ()))
    }

    /// Frees a place, as if its event had not happened.
    pub(super) fn free(&self, place: &Place) {
        self.seen.remove(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_each_key_and_workspace_within_the_window() {
        let window = Duration::from_millis(300);
        let (repeated, one, other) = (Repeated::within(window, 100), Uuid::from_u128(1), Uuid::from_u128(2));
        let is_first = |workspace, key| repeated.take(workspace, key, 1).is_some();
        assert!(is_first(one, "a") && is_first(other, "a") && !is_first(one, "a"));
        let place = repeated.clone().take(one, "b", 1).unwrap();
        assert!(!is_first(one, "b"));
        repeated.free(&place);
        assert!(is_first(one, "b"));
        std::thread::sleep(window);
        assert!(is_first(one, "a"), "the window is over");
    }

    #[test]
    fn a_key_has_as_many_events_as_it_may_have() {
        let repeated = Repeated::default();
        let taken: Vec<bool> = (0..5).map(|_| repeated.take(Uuid::nil(), "a", 3).is_some()).collect();
        assert_eq!(taken, [true, true, true, false, false]);
    }

    #[test]
    fn it_holds_no_more_than_it_may() {
        let repeated = Repeated::within(WINDOW, 100);
        for key in 0..5000 {
            assert!(repeated.take(Uuid::nil(), &key.to_string(), 1).is_some());
        }
        assert!(repeated.seen.entries() <= 100);
    }
}

//! Events that were written a moment ago, so that their repetitions are not written.
//!
//! The keys are in memory and bounded. When there are too many, the least recently used are forgotten, and an event
//! may then be written again within the minute. May use: `cache`.

use crate::cache::{Bounds, Cache};
use std::time::Duration;
use uuid::Uuid;

/// Time for which repetitions are left out.
const WINDOW: Duration = Duration::from_secs(60);
/// Number of keys remembered.
const KEYS: u64 = 10_000;

/// Keys seen within the window; clones share them.
#[derive(Debug, Clone)]
pub(super) struct Repeated {
    seen: Cache<(Uuid, String), ()>,
}

impl Default for Repeated {
    fn default() -> Self {
        Self::within(WINDOW, KEYS)
    }
}

impl Repeated {
    fn within(window: Duration, keys: u64) -> Self {
        Self { seen: Cache::new(Bounds::of(keys).for_time(window).keeping_recent()) }
    }

    /// Checks whether this is the first event of its key within the window; of several at once exactly one is first.
    pub(super) fn is_first(&self, workspace: Uuid, key: &str) -> bool {
        self.seen.insert_new((workspace, key.to_owned()), ())
    }

    /// Forgets the key, as if it was never seen.
    pub(super) fn forget(&self, workspace: Uuid, key: &str) {
        self.seen.remove(&(workspace, key.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_each_key_and_workspace_within_the_window() {
        let window = Duration::from_millis(300);
        let (repeated, one, other) = (Repeated::within(window, 100), Uuid::from_u128(1), Uuid::from_u128(2));
        assert!(repeated.is_first(one, "a") && repeated.is_first(one, "b") && repeated.is_first(other, "a"));
        assert!(!repeated.is_first(one, "a") && !repeated.clone().is_first(one, "b"));
        repeated.forget(one, "b");
        assert!(repeated.is_first(one, "b"));
        std::thread::sleep(window);
        assert!(repeated.is_first(one, "a"), "the window is over");
    }

    #[test]
    fn it_holds_no_more_than_it_may() {
        let repeated = Repeated::within(WINDOW, 100);
        for key in 0..5000 {
            assert!(repeated.is_first(Uuid::nil(), &key.to_string()));
        }
        assert!(repeated.seen.entries() <= 100);
    }
}

//! Announcements of writes that could not be made at once; they wait until the store answers again.
//!
//! May use: `fresh`, `store`.

use crate::fresh::Changed;
use crate::store::HeldNames;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// Number of later attempts to announce a write that could not be announced, without those while the store is away.
const LATE_ATTEMPTS: usize = 30;
/// Time between later attempts.
const AGAIN: Duration = Duration::from_secs(2);
/// Maximum number of announcements that wait for the store.
pub(super) const MOST_LATE: usize = 10_000;

/// A write that other gateway processes have to be told of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::run) struct Announcement {
    /// None for a write outside of any project.
    pub project: Option<Uuid>,
    /// Cached data that may have become invalid.
    pub changed: Vec<Changed>,
    /// The turn of the write; its records of a write under way are removed with the announcement.
    pub turn: Option<HeldNames>,
}

/// The announcements that wait. Equal ones are made once.
pub(in crate::run) type LateAnnouncements = Arc<Mutex<HashSet<Announcement>>>;

/// Repeats `attempt` until it succeeds. It waits for the end of an outage for as long as the store `is_away`, and gives
/// up after a number of attempts at other times. Returns whether it succeeded.
pub(super) async fn repeated<F: Future<Output = bool>>(
    is_away: impl Fn() -> bool,
    attempt: impl Fn() -> F,
) -> bool {
    let mut left = LATE_ATTEMPTS;
    while left > 0 {
        tokio::time::sleep(AGAIN).await;
        if is_away() {
            continue;
        }
        if attempt().await {
            return true;
        }
        left -= 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test(start_paused = true)]
    async fn an_announcement_waits_for_the_end_of_an_outage_of_any_length() {
        let began = tokio::time::Instant::now();
        let outage = Duration::from_secs(24 * 60 * 60);
        let (is_away, attempts) = (|| began.elapsed() < outage, AtomicUsize::new(0));
        // The first attempt after an outage may meet a dead connection.
        let second = || async { attempts.fetch_add(1, Ordering::SeqCst) == 1 };
        assert!(repeated(is_away, second).await);
        assert!(began.elapsed() <= outage + AGAIN * 2, "{:?}", began.elapsed());

        let began = tokio::time::Instant::now();
        assert!(!repeated(|| false, || async { false }).await);
        assert!(began.elapsed() >= Duration::from_secs(60), "{:?}", began.elapsed());
    }
}

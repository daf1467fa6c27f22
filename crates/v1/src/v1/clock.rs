//! The difference between v1's clock and the gateway's clock, measured by the `Date` of v1's answers.
//!
//! v1 sets the times of creation and change of records by its own clock, and the gateway compares them with its times.
//! May use: `units`.

use crate::units::{http_date, now_micros};
use http::HeaderMap;
use http::header::DATE;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Microseconds in a second; `Date` has whole seconds.
const SECOND: i64 = 1_000_000;
/// Difference up to which clocks count as equal.
const NEAR: i64 = 2 * SECOND;
/// Longest call that is used. A longer one says too little about when v1 wrote its date.
const LONGEST: i64 = 2 * SECOND;
/// Difference from which the log reports it.
const FAR: i64 = 30 * SECOND;

/// v1's clock; cheap to clone, all clones share it.
#[derive(Debug, Clone, Default)]
pub struct Clock(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Microseconds by which v1's clock is ahead.
    ahead: AtomicI64,
    /// Time when the last date was read, in microseconds since 1970.
    looked: AtomicI64,
}

impl Clock {
    /// Returns the microseconds by which v1's clock is ahead of ours; negative when it is behind.
    fn ahead(&self) -> i64 {
        self.0.ahead.load(Ordering::Relaxed)
    }

    /// Returns the time of v1's clock when ours shows `at`, in microseconds since 1970.
    pub fn at(&self, at: i64) -> i64 {
        at.saturating_add(self.ahead())
    }

    /// Measures the clock with an answer that has arrived now for a request sent at `sent`. Reads one date per second
    /// at most, because more give no new information.
    pub(super) fn answered(&self, headers: &HeaderMap, sent: i64) {
        let now = now_micros();
        if (0..SECOND).contains(&now.saturating_sub(self.0.looked.load(Ordering::Relaxed))) {
            return;
        }
        let date = headers.get(DATE).and_then(|date| date.to_str().ok()).and_then(http_date);
        let date = date.and_then(|date| i64::try_from(date).ok()?.checked_mul(SECOND));
        if let Some(ahead) = date.and_then(|date| ahead(date, sent, now)) {
            self.0.looked.store(now, Ordering::Relaxed);
            let before = self.0.ahead.swap(ahead, Ordering::Relaxed);
            if ahead.abs() >= FAR && before.abs() < FAR {
                let seconds = ahead / SECOND;
                tracing::warn!(
                    seconds,
                    "v1's clock is ahead of this gateway's by so much (behind, where it is below 0)"
                );
            }
        }
    }
}

/// Returns by how much a clock is ahead. At some moment from `sent` to `now` it showed the second that begins at
/// `date`. Returns `None` when the time from `sent` to `now` was too long.
fn ahead(date: i64, sent: i64, now: i64) -> Option<i64> {
    if !(0..=LONGEST).contains(&now.checked_sub(sent)?) {
        return None;
    }
    let (least, most) = (date.checked_sub(now)?, date.checked_add(SECOND)?.checked_sub(sent)?);
    let is_near = least <= NEAR && most >= -NEAR;
    Some(if is_near { 0 } else { least / 2 + most / 2 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_of_an_answer_tells_how_far_the_clocks_are_apart() {
        let now = 1_000 * SECOND;
        assert_eq!(ahead(now, now - 10, now), Some(0));
        assert_eq!(ahead(now - 3 * SECOND, now - SECOND, now), Some(0), "a second is told from its beginning");
        assert_eq!(ahead(now + 300 * SECOND, now, now), Some(300 * SECOND + SECOND / 2));
        assert_eq!(ahead(now - 300 * SECOND, now - SECOND, now), Some(-299 * SECOND));
    }

    #[test]
    fn answers_that_took_long_and_clocks_that_were_set_meanwhile_tell_nothing() {
        let now = 1_000 * SECOND;
        assert_eq!(ahead(now + 300 * SECOND, now - 3 * SECOND, now), None);
        assert_eq!(ahead(now + 300 * SECOND, now + SECOND, now), None);
        assert_eq!(ahead(i64::MAX, now, now), None);
    }

    #[test]
    fn a_clock_is_known_from_the_last_answer_with_a_date() {
        let (clock, mut headers) = (Clock::default(), HeaderMap::new());
        headers.insert(DATE, "Sun, 06 Nov 1994 08:49:37 GMT".parse().expect("a value"));
        clock.answered(&headers, now_micros());
        let apart = clock.ahead();
        assert!(apart < -30 * 365 * 86_400 * SECOND, "{apart}");
        assert_eq!(clock.at(5), apart + 5);
        headers.clear();
        clock.answered(&headers, now_micros());
        assert_eq!(clock.ahead(), apart);
    }
}

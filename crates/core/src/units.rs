//! Durations and instants as the whole numbers that databases and Redis take.
//!
//! May use: nothing of this crate.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The longest duration that is written, some 73,000 years; instants can be added to it without an overflow.
const LONGEST: i64 = i64::MAX / 4;

/// `time` in microseconds.
pub fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(LONGEST).min(LONGEST)
}

/// `time` in milliseconds.
pub fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(LONGEST).min(LONGEST)
}

/// The time since 1970, by the clock of this machine; none before.
pub fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// `instant` in microseconds since 1970; 0 for what was before.
pub fn unix_micros(instant: SystemTime) -> i64 {
    micros(instant.duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// The present in microseconds since 1970, by the clock of this machine.
pub fn now_micros() -> i64 {
    micros(since_1970())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_can_still_be_added_to_an_instant() {
        assert_eq!(micros(Duration::from_millis(3)), 3_000);
        assert_eq!(millis(Duration::from_secs(3)), 3_000);
        for longest in [micros(Duration::MAX), millis(Duration::MAX)] {
            assert!(now_micros().checked_add(longest).is_some());
        }
    }

    #[test]
    fn instants_count_from_1970() {
        assert_eq!(unix_micros(UNIX_EPOCH + Duration::from_secs(1)), 1_000_000);
        assert_eq!(unix_micros(UNIX_EPOCH - Duration::from_secs(1)), 0);
    }
}

//! Durations and instants as whole numbers for databases and Redis, and the clock that they come from.
//!
//! May use: nothing of this crate.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The longest duration that is written, some 73,000 years. An instant can be added to it without overflow.
const LONGEST: i64 = i64::MAX / 4;

/// Returns `time` in microseconds.
pub fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(LONGEST).min(LONGEST)
}

/// Returns `time` in milliseconds.
pub fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(LONGEST).min(LONGEST)
}

/// Returns `time` in seconds, rounded up.
pub fn seconds_up(time: Duration) -> u64 {
    time.as_secs_f64().ceil() as u64
}

/// Returns the time since 1970 by the clock of this machine; zero before 1970.
pub fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Returns the present in microseconds since 1970, for all data that is stored or compared with stored data. It uses
/// the clock of the database that processes share, once it is known, else the clock of this machine.
pub fn now_micros() -> i64 {
    SHARED.now(Instant::now()).unwrap_or_else(|| micros(since_1970()))
}

/// Records that the clock of the shared database showed `micros` at some moment between `sent` and `answered`.
pub fn shared_clock_showed(micros: i64, sent: Instant, answered: Instant) {
    SHARED.showed(micros, sent, answered);
}

/// Returns the seconds since 1970 of an HTTP `Date`.
pub fn http_date(text: &str) -> Option<u64> {
    let parsed = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text.replace("GMT", "+0000")).ok()?;
    u64::try_from(parsed.as_second()).ok()
}

static SHARED: SharedClock = SharedClock { at_origin: AtomicI64::new(UNKNOWN) };
/// The origin from which the clock below counts.
static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
/// The value before the database has shown its clock.
const UNKNOWN: i64 = i64::MIN;
/// Differences up to this come from the time on the network, and are ignored.
const WAY: i64 = 50_000;

/// The clock of another machine, continued by our monotonic clock. A step of our own wall clock changes nothing.
struct SharedClock {
    /// Its time at `ORIGIN`.
    at_origin: AtomicI64,
}

impl SharedClock {
    fn showed(&self, shown: i64, sent: Instant, answered: Instant) {
        let way = answered.saturating_duration_since(sent);
        let found = shown.saturating_sub(since_origin(sent + way / 2));
        let known = self.at_origin.load(Ordering::Relaxed);
        if known == UNKNOWN || found.abs_diff(known) > WAY.unsigned_abs().max(way.as_micros() as u64) {
            self.at_origin.store(found, Ordering::Relaxed);
        }
    }

    fn now(&self, at: Instant) -> Option<i64> {
        let known = self.at_origin.load(Ordering::Relaxed);
        (known != UNKNOWN).then(|| known.saturating_add(since_origin(at)))
    }
}

fn since_origin(at: Instant) -> i64 {
    micros(at.saturating_duration_since(*ORIGIN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_durations_can_still_be_added_to_an_instant() {
        assert_eq!(micros(Duration::from_millis(3)), 3_000);
        assert_eq!(millis(Duration::from_secs(3)), 3_000);
        for longest in [micros(Duration::MAX), millis(Duration::MAX)] {
            assert!(now_micros().checked_add(longest).is_some());
        }
    }

    #[test]
    fn a_shared_clock_goes_on_between_its_answers_and_is_followed_when_it_was_set() {
        let clock = SharedClock { at_origin: AtomicI64::new(UNKNOWN) };
        let (start, second) = (*ORIGIN, Duration::from_secs(1));
        assert_eq!(clock.now(start), None);
        // Ten hours ahead, with a round trip of 2 ms.
        let (sent, hours) = (start + second, 36_000_000_000);
        clock.showed(hours, sent, sent + Duration::from_millis(2));
        assert_eq!(clock.now(sent + second), Some(hours + 999_000));
        clock.showed(hours + 1_030_000, sent + second, sent + second);
        assert_eq!(clock.now(sent + second), Some(hours + 999_000), "a way that took longer is no other clock");
        clock.showed(5, sent + second, sent + second);
        assert_eq!(clock.now(sent + 2 * second), Some(1_000_005), "it was put back");
    }

    #[test]
    fn dates_of_http_are_read() {
        assert_eq!(http_date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(["", "yesterday", "784111777"].map(http_date), [None; 3]);
    }
}

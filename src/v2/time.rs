//! Dates and instants as v2 writes them: `YYYY-MM-DD`, and ISO 8601 in UTC with six fraction digits.
//!
//! May use: nothing of this crate.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

/// Microseconds since the Unix epoch; what instants are compared by.
pub type Micros = i64;

/// What a client wrote where an instant is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// A timestamp; one without an offset is read as UTC (O23).
    Instant(Micros),
    /// A bare date.
    Day(Date),
}

/// Reads a timestamp or a bare date; `None` when it is neither.
pub fn read(text: &str) -> Option<Written> {
    if let Some(day) = read_date(text) {
        return Some(Written::Day(day));
    }
    if text.len() < 16 || !text.is_ascii() {
        return None;
    }
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Some(Written::Instant(instant.as_microsecond()));
    }
    let naive = text.parse::<DateTime>().ok()?;
    let utc = naive.to_zoned(TimeZone::UTC).ok()?;
    Some(Written::Instant(utc.timestamp().as_microsecond()))
}

/// Reads an instant of v1, which always carries an offset (trap 42, `tz_list_kim`).
pub fn read_instant(text: &str) -> Option<Micros> {
    Some(text.parse::<Timestamp>().ok()?.as_microsecond())
}

/// Reads `YYYY-MM-DD` and nothing else.
pub fn read_date(text: &str) -> Option<Date> {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    text.parse().ok()
}

/// The instant at which `day` begins in `zone`; `None` for an unknown zone name.
pub fn day_begins(day: Date, zone: &str) -> Option<Micros> {
    let zoned = day.to_zoned(TimeZone::get(zone).ok()?).ok()?;
    Some(zoned.timestamp().as_microsecond())
}

/// Whether `zone` is a name of the IANA time zone database, spelt as there.
pub fn is_zone(zone: &str) -> bool {
    jiff::tz::db().available().any(|name| name.as_str() == zone)
}

/// `2026-11-21T10:36:12.630235Z`: UTC, always six fraction digits.
pub fn write(micros: Micros) -> String {
    match Timestamp::from_microsecond(micros) {
        Ok(instant) => format!("{instant:.6}"),
        Err(_) => String::from("0001-01-01T00:00:00.000000Z"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_written_in_utc_with_six_digits() {
        let micros = read_instant("2026-11-21T16:06:23.792659+05:30").unwrap();
        assert_eq!(write(micros), "2026-11-21T10:36:23.792659Z");
        assert_eq!(write(read_instant("2099-01-05T00:00:01Z").unwrap()), "2099-01-05T00:00:01.000000Z");
    }

    #[test]
    fn lenient_forms_of_clients() {
        assert_eq!(read("2026-01-05T08:00:00"), read("2026-01-05T08:00:00Z"));
        assert!(matches!(read("2026-01-05"), Some(Written::Day(_))));
        for bad in ["soon", "2026-13-01", "2026-1-5", "2026-01-05T25:00:00Z", "12", ""] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn zones_are_iana_names() {
        assert!(is_zone("Europe/Berlin") && is_zone("UTC") && is_zone("EST"));
        assert!(!is_zone("Mars/Base") && !is_zone("europe/berlin") && !is_zone(""));
    }

    #[test]
    fn a_day_begins_in_its_zone() {
        let day = read_date("2026-01-05").unwrap();
        assert_eq!(write(day_begins(day, "America/New_York").unwrap()), "2026-01-05T05:00:00.000000Z");
    }
}

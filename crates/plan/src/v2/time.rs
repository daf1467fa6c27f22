//! Dates and instants as v2 writes them: `YYYY-MM-DD`, and ISO 8601 in UTC with six fraction digits.
//!
//! May use: nothing of this crate.

use jiff::civil::{Date, DateTime, date};
use jiff::fmt::temporal::Pieces;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// Microseconds since the Unix epoch; what instants are compared by.
pub type Micros = i64;

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);
/// 0001-01-01T00:00:00Z and the last microsecond of the year 9999: the years v1 has.
const YEARS: std::ops::RangeInclusive<Micros> = -62_135_596_800_000_000..=253_402_300_799_999_999;

/// What a client wrote where an instant is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// A timestamp; one without an offset is read as UTC (O23).
    Instant(Micros),
    /// A bare date.
    Day(Date),
}

/// Reads a timestamp or a bare date; `None` when it is neither. An annotation behind it (`[Europe/Berlin]`) could
/// contradict it and is no part of ISO 8601.
pub fn read(text: &str) -> Option<Written> {
    if let Some(day) = read_date(text) {
        return Some(Written::Day(day));
    }
    if text.len() < 16 || !text.is_ascii() || text.contains('[') {
        return None;
    }
    let micros = read_instant(text).or_else(|| in_pieces(text, Some(0)))?;
    Some(Written::Instant(micros))
}

/// Reads an instant of v1, which always carries an offset (trap 42, `tz_list_kim`).
pub fn read_instant(text: &str) -> Option<Micros> {
    let instant = text.parse::<Timestamp>().ok().map(Timestamp::as_microsecond);
    instant.or_else(|| in_pieces(text, None)).filter(|micros| YEARS.contains(micros))
}

/// Reads what a [`Timestamp`] cannot hold: the last day of the year 9999, and, with the offset in seconds to be
/// taken, a text without one.
fn in_pieces(text: &str, otherwise: Option<i64>) -> Option<Micros> {
    let pieces = Pieces::parse(text).ok()?;
    let offset = pieces.to_numeric_offset().map(|offset| i64::from(offset.seconds())).or(otherwise)?;
    let micros = since_epoch(pieces.date().to_datetime(pieces.time()?), offset)?;
    YEARS.contains(&micros).then_some(micros)
}

/// The instant at which clocks `offset` seconds ahead of UTC show `local`.
fn since_epoch(local: DateTime, offset: i64) -> Option<Micros> {
    let since = local.duration_since(EPOCH).checked_sub(SignedDuration::from_secs(offset))?;
    i64::try_from(since.as_micros()).ok()
}

/// Reads `YYYY-MM-DD` and nothing else; v1 knows no year 0.
pub fn read_date(text: &str) -> Option<Date> {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    text.parse().ok().filter(|day| *day >= date(1, 1, 1))
}

/// The instant at which `day` begins in `zone`; `None` for an unknown zone name, and where that is in no year v1
/// has.
pub fn day_begins(day: Date, zone: &str) -> Option<Micros> {
    let zone = TimeZone::get(zone).ok()?;
    let micros = match day.to_zoned(zone.clone()) {
        Ok(zoned) => zoned.timestamp().as_microsecond(),
        Err(_) => since_epoch(day.into(), i64::from(zone.to_offset(Timestamp::MAX).seconds()))?,
    };
    YEARS.contains(&micros).then_some(micros)
}

/// Whether `zone` is a name of the IANA time zone database, spelt as there.
pub fn is_zone(zone: &str) -> bool {
    jiff::tz::db().available().any(|name| name.as_str() == zone)
}

/// `2026-11-21T10:36:12.630235Z`: UTC, always six fraction digits.
pub fn write(micros: Micros) -> String {
    match Timestamp::from_microsecond(micros) {
        Ok(instant) => format!("{instant:.6}"),
        Err(_) => format!("{:.6}Z", EPOCH.saturating_add(SignedDuration::from_micros(micros))),
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
        for bad in [
            "soon",
            "2026-13-01",
            "2026-1-5",
            "2026-01-05T25:00:00Z",
            "12",
            "",
            "0000-12-31",
            "0001-01-01T00:00:00+01:00",
            "9999-12-31T23:59:59-01:00",
            "2026-01-05T08:00:00[Europe/Berlin]",
            "2026-01-05T08:00:00+01:00[Europe/Berlin]",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
        assert_eq!(read_instant("2026-01-05T08:00:00"), None, "v1 always tells the offset");
    }

    #[test]
    fn the_last_day_there_is() {
        for (text, utc) in [
            ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000000Z"),
            ("9999-12-31T23:59:59.5+02:00", "9999-12-31T21:59:59.500000Z"),
            ("9999-12-31T12:00:00", "9999-12-31T12:00:00.000000Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000Z"),
        ] {
            let Some(Written::Instant(micros)) = read(text) else { panic!("{text}") };
            assert_eq!((write(micros).as_str(), read_instant(utc)), (utc, Some(micros)));
        }
        let last = read_date("9999-12-31").unwrap();
        assert_eq!(write(day_begins(last, "UTC").unwrap()), "9999-12-31T00:00:00.000000Z");
        assert_eq!(write(day_begins(last, "Asia/Kolkata").unwrap()), "9999-12-30T18:30:00.000000Z");
        assert_eq!(day_begins(read_date("0001-01-01").unwrap(), "Asia/Kolkata"), None);
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

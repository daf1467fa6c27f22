//! Dates and instants as v2 writes them: `YYYY-MM-DD`, and ISO 8601 in UTC with six fraction digits.
//!
//! May use: nothing of this crate.

use jiff::civil::{Date, DateTime, date};
use jiff::fmt::temporal::Pieces;
use jiff::tz::TimeZoneDatabase;
use jiff::{SignedDuration, Timestamp};
use std::sync::LazyLock;

/// Microseconds since the Unix epoch; instants are compared by them.
pub type Micros = i64;

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);
/// The years that v1 knows: from 0001-01-01T00:00:00Z to the last microsecond of the year 9999.
const YEARS: std::ops::RangeInclusive<Micros> = -62_135_596_800_000_000..=253_402_300_799_999_999;

/// Seconds of a day.
const DAY: i32 = 24 * 60 * 60;

/// The time zones that are compiled in. The zones of the machine may be older, and may have names outside the list,
/// such as `localtime`.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// A value that a client wrote where an instant is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientInstant {
    /// A timestamp. Without an offset it is read as UTC (O23). Of more than six fraction digits the first six count.
    Instant(Micros),
    /// A bare date.
    Day(Date),
}

impl ClientInstant {
    /// Returns the instant; for a bare date, that at which the day begins in `zone` (see [`day_begins`]).
    pub fn in_zone(self, zone: &str) -> Option<Micros> {
        match self {
            Self::Instant(micros) => Some(micros),
            Self::Day(day) => day_begins(day, zone),
        }
    }
}

/// Reads a timestamp or a bare date; `None` for any other text. A timestamp with an annotation (`[Europe/Berlin]`) is
/// refused: the annotation could contradict it and is not part of ISO 8601.
pub fn read(text: &str) -> Option<ClientInstant> {
    if let Some(day) = read_date(text) {
        return Some(ClientInstant::Day(day));
    }
    if text.len() < 16 || !text.is_ascii() || text.contains('[') || leaps(text) || has_fractional_offset(text) {
        return None;
    }
    let micros = read_instant(text).or_else(|| in_pieces(text, Some(0)))?;
    // jiff accepts offsets of a day and more, which no clock shows.
    let offset = Pieces::parse(text).ok()?.to_numeric_offset();
    offset.is_none_or(|offset| offset.seconds().abs() < DAY).then_some(ClientInstant::Instant(micros))
}

/// Reads the lower bound of a range. As [`read`], but an instant between two microseconds is rounded up, because the
/// lower microsecond lies before the range.
pub fn read_not_before(text: &str) -> Option<ClientInstant> {
    let fraction = text.split(['.', ',']).nth(1).unwrap_or_default();
    let is_cut = fraction.bytes().take_while(u8::is_ascii_digit).skip(6).any(|digit| digit != b'0');
    Some(match read(text)? {
        ClientInstant::Instant(micros) if is_cut => ClientInstant::Instant(micros + 1),
        written => written,
    })
}

/// Checks whether the second is 60, as in `23:59:60`. v1 has no leap seconds, and jiff would read the second before.
fn leaps(text: &str) -> bool {
    let clock = text.split(['T', 't', ' ']).nth(1).unwrap_or_default();
    let clock: Vec<u8> = clock.bytes().filter(|byte| *byte != b':').take_while(u8::is_ascii_digit).collect();
    clock.len() == 6 && clock.ends_with(b"60")
}

/// Checks whether the offset has a fraction of a second, which jiff would round.
fn has_fractional_offset(text: &str) -> bool {
    let clock = text.split(['T', 't', ' ']).nth(1).unwrap_or_default();
    clock.rsplit_once(['+', '-']).is_some_and(|(_, offset)| offset.contains(['.', ',']))
}

/// Reads an instant of v1, which always carries an offset (trap 42, `tz_list_kim`).
pub fn read_instant(text: &str) -> Option<Micros> {
    read_usual(text).or_else(|| read_any(text)).filter(|micros| YEARS.contains(micros))
}

/// Checks whether two texts of v1 are the same instant, which v1 writes in each caller's own zone (trap 42,
/// `tz_list_kim`).
pub fn is_same_instant(one: &str, other: &str) -> bool {
    read_instant(one).is_some_and(|instant| read_instant(other) == Some(instant))
}

/// Reads an instant in any form.
fn read_any(text: &str) -> Option<Micros> {
    let instant = text.parse::<Timestamp>().ok().map(|instant| below(instant.as_nanosecond()));
    instant.or_else(|| in_pieces(text, None))
}

/// Reads an instant in v1's usual form, `2026-11-21T10:36:12.630235Z` with up to six fraction digits. On `None` the
/// text may still be valid in another form. A page of work items has two hundred instants, and reading any form takes
/// many times as long.
fn read_usual(text: &str) -> Option<Micros> {
    let (head, fraction) = text.as_bytes().strip_suffix(b"Z")?.split_first_chunk::<19>()?;
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T', h1, h2, b':', n1, n2, b':', s1, s2] = head else {
        return None;
    };
    let (year, month, day) = (100 * number([y1, y2])? + number([y3, y4])?, number([m1, m2])?, number([d1, d2])?);
    let (hour, minute, second) = (number([h1, h2])?, number([n1, n2])?, number([s1, s2])?);
    let micros = match fraction {
        [] => 0,
        [b'.', digits @ ..] if (1..=6).contains(&digits.len()) => {
            let mut six = *b"000000";
            six[..digits.len()].copy_from_slice(digits);
            let [a, b, c, d, e, f] = six;
            10_000 * number([a, b])? + 100 * number([c, d])? + number([e, f])?
        }
        _ => return None,
    };
    // The 29th of February and leap seconds are left to `read_any`.
    let longest = match month {
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if !(1..=12).contains(&month) || !(1..=longest).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = ((days_before(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    Some(seconds * 1_000_000 + micros)
}

/// Reads two decimal digits.
fn number([tens, ones]: [u8; 2]) -> Option<i64> {
    let number = |digit: u8| digit.is_ascii_digit().then(|| i64::from(digit - b'0'));
    Some(10 * number(tens)? + number(ones)?)
}

/// Days of 400 years; and days from the first of March of the year 0 to the epoch.
const ERA: i64 = 146_097;
const BEFORE_EPOCH: i64 = 719_468;

/// Returns the days from the epoch to a date of the years 0 to 9999. Years are counted from March, so that the leap day
/// is the last day of its year.
fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year - BEFORE_EPOCH
}

/// Returns the year, month and day that is `days` days after the epoch.
fn date_after(days: i64) -> (i64, i64, i64) {
    let days = days + BEFORE_EPOCH;
    let (era, of_era) = (days.div_euclid(ERA), days.rem_euclid(ERA));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (next, month) = if month < 10 { (0, month + 3) } else { (1, month - 9) };
    (era * 400 + year + next, month, day)
}

/// Reads what a [`Timestamp`] cannot hold: the last day of the year 9999, and a text without an offset, for which
/// `otherwise` gives the offset in seconds.
fn in_pieces(text: &str, otherwise: Option<i64>) -> Option<Micros> {
    let pieces = Pieces::parse(text).ok()?;
    let offset = pieces.to_numeric_offset().map(|offset| i64::from(offset.seconds())).or(otherwise)?;
    let micros = since_epoch(pieces.date().to_datetime(pieces.time()?), offset)?;
    YEARS.contains(&micros).then_some(micros)
}

/// Returns the instant at which clocks `offset` seconds ahead of UTC show `local`.
fn since_epoch(local: DateTime, offset: i64) -> Option<Micros> {
    let since = local.duration_since(EPOCH).checked_sub(SignedDuration::from_secs(offset))?;
    Some(below(since.as_nanos()))
}

/// Rounds nanoseconds down to microseconds, also before the epoch.
fn below(nanos: i128) -> Micros {
    nanos.div_euclid(1000) as Micros
}

/// Reads `YYYY-MM-DD` and nothing else; v1 knows no year 0.
pub fn read_date(text: &str) -> Option<Date> {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    text.parse().ok().filter(|day| *day >= date(1, 1, 1))
}

/// Checks whether a text is `YYYY-MM-DD`. Faster than reading it: a page of work items has up to two hundred dates.
pub fn is_date(text: &str) -> bool {
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text.as_bytes() else { return false };
    match (number([y1, y2]), number([y3, y4]), number([m1, m2]), number([d1, d2])) {
        // Days after the 28th, and so leap years, are left to `read_date`.
        (Some(of_100), Some(year), Some(1..=12), Some(1..=28)) => of_100 + year > 0,
        _ => read_date(text).is_some(),
    }
}

/// Returns the instant at which `day` begins in `zone`; `None` for an unknown zone name, and for an instant outside of
/// the years that v1 knows.
pub fn day_begins(day: Date, zone: &str) -> Option<Micros> {
    let zone = ZONES.get(zone).ok()?;
    let micros = match day.to_zoned(zone.clone()) {
        Ok(zoned) => zoned.timestamp().as_microsecond(),
        Err(_) => since_epoch(day.into(), i64::from(zone.to_offset(Timestamp::MAX).seconds()))?,
    };
    YEARS.contains(&micros).then_some(micros)
}

/// Checks whether `zone` is a name of the IANA time zone database, in the exact spelling.
pub fn is_zone(zone: &str) -> bool {
    ZONES.available().any(|name| name.as_str() == zone)
}

/// Writes an instant as `2026-11-21T10:36:12.630235Z`: UTC, always six fraction digits.
pub fn write(micros: Micros) -> String {
    let mut text = Vec::with_capacity(USUAL);
    write_to(&mut text, micros);
    String::from_utf8(text).unwrap_or_default()
}

/// Appends the text of [`write()`] to `out`.
pub fn write_to(out: &mut Vec<u8>, micros: Micros) {
    if YEARS.contains(&micros) {
        out.extend_from_slice(&usual(micros));
    } else {
        let text = format!("{:.6}Z", EPOCH.saturating_add(SignedDuration::from_micros(micros)));
        out.extend_from_slice(text.as_bytes());
    }
}

/// Length in bytes of an instant in the years that v1 knows.
const USUAL: usize = 27;

/// Writes an instant in the years that v1 knows.
fn usual(micros: Micros) -> [u8; USUAL] {
    let (seconds, micros) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
    let (year, month, day) = date_after(seconds.div_euclid(86_400));
    let second = seconds.rem_euclid(86_400);
    let mut text = *b"0000-00-00T00:00:00.000000Z";
    let pairs = [
        (0, year / 100),
        (2, year % 100),
        (5, month),
        (8, day),
        (11, second / 3600),
        (14, second / 60 % 60),
        (17, second % 60),
        (20, micros / 10_000),
        (22, micros / 100 % 100),
        (24, micros % 100),
    ];
    for (at, pair) in pairs {
        text[at] = b'0' + (pair / 10) as u8;
        text[at + 1] = b'0' + (pair % 10) as u8;
    }
    text
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
    fn an_instant_is_the_same_in_every_zone() {
        assert!(is_same_instant("2026-11-21T16:06:23.792659+05:30", "2026-11-21T10:36:23.792659Z"));
        assert!(!is_same_instant("2026-11-21T16:06:23.792659+05:30", "2026-11-21T16:06:23.792659Z"));
        assert!(!is_same_instant("never", "never"), "no instants");
    }

    #[test]
    fn the_usual_form_is_read_and_written_as_any_other() {
        let mut at = *YEARS.start();
        let (mut read, mut all) = (0, 0);
        while at <= *YEARS.end() {
            let text = write(at);
            let plain = match Timestamp::from_microsecond(at) {
                Ok(instant) => format!("{instant:.6}"),
                Err(_) => format!("{:.6}Z", EPOCH.saturating_add(SignedDuration::from_micros(at))),
            };
            assert_eq!(text, plain);
            assert_eq!((read_instant(&text), read_any(&text)), (Some(at), Some(at)), "{text}");
            (read, all) = (read + usize::from(read_usual(&text).is_some()), all + 1);
            // About 20,000 instants of all years, days and hours.
            at += 15_778_800_123_457;
        }
        assert!(all > 19_000 && read > all * 99 / 100, "{read} of {all}");
    }

    #[test]
    fn instants_in_unusual_forms_are_read_by_the_general_parser() {
        let usual = "2024-02-29T23:59:59.630235Z";
        for end in 0..usual.len() {
            let short = format!("{}Z", &usual[..end]);
            assert_eq!(read_usual(&short).or_else(|| read_any(&short)), read_any(&short), "{short}");
        }
        for at in 0..usual.len() {
            for other in "09 :-+.,TtZz61x".chars() {
                let mut text = usual.to_owned();
                text.replace_range(at..=at, &other.to_string());
                assert_eq!(read_usual(&text).or_else(|| read_any(&text)), read_any(&text), "{text}");
            }
        }
    }

    #[test]
    fn lenient_forms_of_clients() {
        assert_eq!(read("2026-01-05T08:00:00"), read("2026-01-05T08:00:00Z"));
        assert!(matches!(read("2026-01-05"), Some(ClientInstant::Day(_))));
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
            "2026-01-05T08:00:00+24:00",
            "2026-01-05T08:00:00-25:59",
            "2026-01-05T08:00:00[Europe/Berlin]",
            "2026-01-05T08:00:00+01:00[Europe/Berlin]",
            "2016-12-31T23:59:60Z",
            "2016-12-31T23:59:60",
            "2026-01-05 08:00:60.5+01:00",
            "20260105T080060Z",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
        assert_eq!(read_instant("2026-01-05T08:00:00"), None, "v1 always tells the offset");
    }

    #[test]
    fn of_more_than_six_digits_the_first_six_count_and_a_range_begins_behind_them() {
        for (text, read_as, begins) in [
            ("2026-01-05T08:00:00.123456Z", "2026-01-05T08:00:00.123456Z", 0),
            ("2026-01-05T08:00:00.1234565Z", "2026-01-05T08:00:00.123456Z", 1),
            ("2026-01-05 09:00:00,123456789+01:00", "2026-01-05T08:00:00.123456Z", 1),
            ("2026-01-05T08:00:00.123456000", "2026-01-05T08:00:00.123456Z", 0),
            ("2026-01-05T08:00:00.123456001", "2026-01-05T08:00:00.123456Z", 1),
            ("1969-12-31T23:59:59.9999999Z", "1969-12-31T23:59:59.999999Z", 1),
            ("1969-12-31T23:59:59.9999999", "1969-12-31T23:59:59.999999Z", 1),
            ("9999-12-31T23:59:59.9999999Z", "9999-12-31T23:59:59.999999Z", 1),
        ] {
            let micros = read_instant(read_as).unwrap();
            assert_eq!(read(text), Some(ClientInstant::Instant(micros)), "{text}");
            assert_eq!(read_not_before(text), Some(ClientInstant::Instant(micros + begins)), "{text}");
        }
        assert_eq!(read_not_before("2026-01-05"), read("2026-01-05"));
        assert_eq!(read("2026-01-05T08:00:00.1234567891Z"), None, "too many digits");
        assert_eq!(read("2026-01-05T08:00:00+01:00:00.6"), None, "an offset has whole seconds");
    }

    #[test]
    fn the_last_day_there_is() {
        for (text, utc) in [
            ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000000Z"),
            ("9999-12-31T23:59:59.5+02:00", "9999-12-31T21:59:59.500000Z"),
            ("9999-12-31T12:00:00", "9999-12-31T12:00:00.000000Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000Z"),
        ] {
            let Some(ClientInstant::Instant(micros)) = read(text) else { panic!("{text}") };
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
        for of_the_machine in ["localtime", "posixrules", "posix/UTC", "right/UTC"] {
            assert!(!is_zone(of_the_machine), "{of_the_machine}");
        }
    }

    #[test]
    fn a_day_begins_in_its_zone() {
        let day = read_date("2026-01-05").unwrap();
        assert_eq!(write(day_begins(day, "America/New_York").unwrap()), "2026-01-05T05:00:00.000000Z");
    }
}

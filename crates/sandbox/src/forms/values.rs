//! Reading of single values in the way of v1's language: whole numbers, floats, dates, instants, ids and slugs. May
//! use: `records`.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{Offset, TimeZone};
use unicode_normalization::UnicodeNormalization;

use crate::records::table::Id;

/// The first digit of each common block of decimal digits
/// (`items_key_unicode_digits`).
const ZEROES: [char; 19] = [
    '0', '\u{660}', '\u{6f0}', '\u{7c0}', '\u{966}', '\u{9e6}', '\u{a66}', '\u{ae6}', '\u{b66}', '\u{be6}',
    '\u{c66}', '\u{ce6}', '\u{d66}', '\u{e50}', '\u{ed0}', '\u{f20}', '\u{1040}', '\u{17e0}', '\u{ff10}',
];

fn digit(c: char) -> Option<u32> {
    ZEROES.iter().map(|&zero| (c as u32).wrapping_sub(zero as u32)).find(|&value| value < 10)
}

/// Reads a whole number. Blanks around it, a sign, single underscores between digits, and digits of other
/// scripts are allowed (`pagination_per_page_underscore`). Numbers beyond 128 bits are capped.
pub(crate) fn whole(text: &str) -> Option<i128> {
    let text = text.trim();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut value: i128 = 0;
    let mut after_digit = false;
    for c in digits.chars() {
        if c == '_' && after_digit {
            after_digit = false;
            continue;
        }
        let d = digit(c)?;
        value = value.saturating_mul(10).saturating_add(i128::from(d));
        after_digit = true;
    }
    after_digit.then_some(if negative { -value } else { value })
}

/// Removes the blanks at both ends of a text.
pub(crate) fn stripped(text: &str) -> &str {
    text.trim_matches(is_blank)
}

/// Checks for a blank. v1 takes the separators U+001C to U+001F for blanks, Rust does not.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Reads a float, `inf` and `nan` included.
pub(crate) fn float(text: &str) -> Option<f64> {
    text.trim().parse().ok()
}

/// Reads a calendar day, `YYYY-MM-DD` with month and day of one or two digits.
pub(crate) fn day(text: &str) -> Option<Date> {
    let mut parts = text.split('-');
    let (year, month, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let small = |part: &str| -> Option<i8> {
        let fits = (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        fits.then(|| part.parse().ok()).flatten()
    };
    if parts.next().is_some() || year.len() != 4 || !year.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Date::new(year.parse().ok()?, small(month)?, small(rest)?).ok()
}

/// Reads an instant. Without an offset it is in `zone`; without a time it is midnight there.
pub(crate) fn instant(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    let text = text.trim();
    let (date, rest) = match text.find(['T', 't', ' ']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let date = day(date)?;
    let (time, offset) = match rest {
        None => (Time::midnight(), None),
        Some(rest) => {
            let cut = rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len());
            (clock_time(rest[..cut].trim_end())?, zone_offset(&rest[cut..])?)
        }
    };
    let local = DateTime::from_parts(date, time);
    match offset {
        Some(offset) => offset.to_timestamp(local).ok(),
        None => zone.to_timestamp(local).ok(),
    }
}

fn clock_time(text: &str) -> Option<Time> {
    let (whole_part, fraction) = match text.split_once(['.', ',']) {
        Some((whole_part, fraction)) => (whole_part, fraction),
        None => (text, ""),
    };
    let mut parts = whole_part.split(':');
    let mut next = |needed: bool| -> Option<i8> {
        match parts.next() {
            Some(part) if (1..=2).contains(&part.len()) => part.parse().ok(),
            None if !needed => Some(0),
            _ => None,
        }
    };
    let (hour, minute, second) = (next(true)?, next(true)?, next(false)?);
    if parts.next().is_some() || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let micros: String = format!("{fraction:0<6}").chars().take(6).collect();
    Time::new(hour, minute, second, micros.parse::<i32>().ok()? * 1000).ok()
}

/// Returns `Some(None)` when no offset was given, and `None` when it is malformed.
fn zone_offset(text: &str) -> Option<Option<Offset>> {
    match text.as_bytes().first() {
        None => Some(None),
        Some(b'Z' | b'z') if text.len() == 1 => Some(Some(Offset::UTC)),
        Some(sign @ (b'+' | b'-')) => {
            let digits: String = text[1..].chars().filter(|&c| c != ':').collect();
            let plain = digits.bytes().all(|b| b.is_ascii_digit());
            if !plain || !(digits.len() == 2 || digits.len() == 4) {
                return None;
            }
            let hours: i32 = digits[..2].parse().ok()?;
            let minutes: i32 = digits.get(2..4).map_or(Ok(0), str::parse).ok()?;
            let seconds = hours * 3600 + minutes * 60;
            let seconds = if *sign == b'-' { -seconds } else { seconds };
            Offset::from_seconds(seconds).ok().map(Some)
        }
        Some(_) => None,
    }
}

/// Reads an id in any form that v1 accepts in bodies: upper case, without dashes, in braces, as URN
/// (`errors_upper_case_uuid_body`, `errors_braced_uuid_body`).
pub(crate) fn id(text: &str) -> Option<Id> {
    Id::try_parse(text).ok()
}

/// Reads an id in the only form that routes accept: lower case with dashes (`errors_upper_case_uuid_path`).
pub(crate) fn path_id(text: &str) -> Option<Id> {
    let strict = text.len() == 36 && !text.bytes().any(|b| b.is_ascii_uppercase());
    strict.then(|| Id::try_parse(text).ok()).flatten()
}

/// Returns the slug that v1 derives from a state's name; letters outside ASCII are dropped
/// (`states_create_name_255_cyrillic`).
pub(crate) fn slug(name: &str) -> String {
    let mut out = String::new();
    let lower = name.nfkd().filter(char::is_ascii).map(|c| c.to_ascii_lowercase());
    for c in lower {
        if c.is_ascii_alphanumeric() || c == '_' {
            out.push(c);
        } else if (c == '-' || is_blank(c)) && !out.ends_with('-') {
            out.push('-');
        }
    }
    out.trim_matches(['-', '_']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_laxly() {
        assert_eq!(whole(" 2 "), Some(2));
        assert_eq!(whole("1_0"), Some(10));
        assert_eq!(whole("+1"), Some(1));
        assert_eq!(whole("\u{661}"), Some(1));
        assert_eq!(whole("1.0"), None);
        assert_eq!(whole(""), None);
        assert_eq!(whole("1__0"), None);
    }

    #[test]
    fn instants_keep_their_offset_or_take_the_callers() {
        let kolkata = TimeZone::get("Asia/Kolkata").unwrap();
        let naive = instant("2099-01-06T08:15:00", &kolkata).unwrap();
        assert_eq!(naive.to_string(), "2099-01-06T02:45:00Z");
        let sent = instant("2099-01-06T08:15:00+09:00", &kolkata).unwrap();
        assert_eq!(sent.to_string(), "2099-01-05T23:15:00Z");
        assert!(instant("soon", &kolkata).is_none());
    }

    #[test]
    fn slugs_are_ascii() {
        assert_eq!(slug("Hidden by flag"), "hidden-by-flag");
        assert_eq!(slug("жж"), "");
        assert_eq!(slug("a\u{b}b\u{1c}\u{1f}c\u{1}d"), "a-b-cd");
    }

    #[test]
    fn blanks_at_the_ends_of_a_text_are_those_of_v1() {
        assert_eq!(stripped("\u{a0}\u{1c} a\u{1f}b \u{b}\u{1f}\u{3000}"), "a\u{1f}b");
        assert_eq!(stripped("\u{200b}a\u{feff}"), "\u{200b}a\u{feff}");
    }
}

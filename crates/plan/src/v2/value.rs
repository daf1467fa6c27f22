//! Reads single values that a client sends and checks their kind: text in a query, JSON in a body.
//!
//! May use: `plan` (kinds).

use super::record::Cell;
use super::time;
use crate::plan::Kind;
use serde_json::Value;
use uuid::Uuid;

/// Reads a filter value into the cell with which records are compared.
///
/// # Errors
/// Returns a sentence for the client when the text is not of the kind, or not in the list.
pub fn read_filter(kind: Kind, allowed: &[String], text: &str) -> Result<Cell, String> {
    if !allowed.is_empty() && !allowed.iter().any(|word| word == text) {
        return Err(not_one_of(text, allowed));
    }
    let cell = match kind {
        Kind::Uuid => read_uuid(text).map(Cell::Id),
        Kind::Boolean => read_boolean(text).map(Cell::Bool),
        Kind::Integer => read_whole(text).map(|n| Cell::Number(n as f64)),
        Kind::Number => read_number(text).map(Cell::Number),
        Kind::Date => time::read_date(text).map(|day| Cell::Text(day.to_string().into())),
        Kind::DateTime => first_instant(time::read(text)).map(Cell::Instant),
        Kind::String | Kind::Email | Kind::Object | Kind::Any => Some(Cell::Text(trimmed(text).into())),
    };
    let wanted = if kind == Kind::DateTime { "an ISO 8601 timestamp" } else { noun(kind) };
    cell.ok_or_else(|| format!("must be {wanted}"))
}

/// Returns the error text for a word that is not in a list of words.
pub fn not_one_of(text: &str, allowed: &[String]) -> String {
    format!("`{}` is not one of {}", shorten(text), allowed.join(", "))
}

/// As [`read_filter`], for the lower bound of a range.
///
/// # Errors
/// As [`read_filter`].
pub fn read_lower_bound(kind: Kind, allowed: &[String], text: &str) -> Result<Cell, String> {
    match (kind, first_instant(time::read_not_before(text))) {
        (Kind::DateTime, Some(instant)) => Ok(Cell::Instant(instant)),
        _ => read_filter(kind, allowed, text),
    }
}

/// Returns the instant with which a timestamp range is compared. A bare date means its first instant in UTC (O23).
fn first_instant(written: Option<time::ClientInstant>) -> Option<time::Micros> {
    written?.in_zone("UTC")
}

/// Reads a whole number with or without a sign. One that is too large for the machine is read as its largest: no record
/// has such a number.
fn read_whole(text: &str) -> Option<i64> {
    let size = whole_number(text.strip_prefix(['-', '+']).unwrap_or(text))?;
    let size = i64::try_from(size).unwrap_or(i64::MAX);
    Some(if text.starts_with('-') { -size } else { size })
}

/// Reads a whole number of at least 0. A number too large for the machine is read as the largest.
pub(super) fn whole_number(text: &str) -> Option<u64> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Some(text.parse().unwrap_or(u64::MAX))
}

fn read_number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Reads `true`, `false`, `1` or `0`, in any letter case.
pub fn read_boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

/// Reads a UUID in its hyphenated form, in any letter case.
pub fn read_uuid(text: &str) -> Option<Uuid> {
    if text.len() != 36 {
        return None;
    }
    Uuid::try_parse(text).ok()
}

/// Checks a JSON value against its kind and returns it in canonical form (ids in lower case).
///
/// # Errors
/// Returns a sentence for the client.
pub fn read_json(kind: Kind, value: &Value) -> Result<Value, String> {
    let read = match kind {
        Kind::Any => Some(value.clone()),
        Kind::Object => value.as_object().map(|_| value.clone()),
        Kind::Boolean => value.as_bool().map(Value::Bool),
        Kind::Integer => whole(value).map(Value::from),
        Kind::Number => value.as_f64().filter(|n| n.is_finite()).map(|_| value.clone()),
        Kind::String | Kind::Email | Kind::Uuid | Kind::Date | Kind::DateTime => match value.as_str() {
            Some(text) if text.contains('\0') => return Err("must not contain NUL characters".into()),
            text => text.and_then(|text| read_text(kind, text)),
        },
    };
    read.ok_or_else(|| format!("must be {}", noun(kind)))
}

/// Reads a whole number, also one with a fraction of zero: JSON Schema makes no difference.
fn whole(value: &Value) -> Option<i64> {
    /// Up to this limit a float stands for exactly one whole number.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let exact = |float: &f64| float.fract() == 0.0 && float.abs() <= EXACT;
    value.as_i64().or_else(|| value.as_f64().filter(exact).map(|float| float as i64))
}

fn read_text(kind: Kind, text: &str) -> Option<Value> {
    let valid = match kind {
        Kind::Uuid => return read_uuid(text).map(|id| id.to_string().into()),
        Kind::Date => time::read_date(text).is_some(),
        Kind::DateTime => time::read(text).is_some(),
        Kind::Email => text.split_once('@').is_some_and(|(who, host)| !who.is_empty() && !host.is_empty()),
        _ => true,
    };
    valid.then(|| text.into())
}

fn noun(kind: Kind) -> &'static str {
    match kind {
        Kind::Uuid => "a UUID",
        Kind::Date => "a date, YYYY-MM-DD",
        Kind::DateTime => "an ISO 8601 date-time",
        Kind::Email => "an e-mail address",
        Kind::Integer => "a whole number",
        Kind::Number => "a number",
        Kind::Boolean => "true or false",
        Kind::Object => "an object",
        Kind::String | Kind::Any => "a string",
    }
}

/// Returns the text in lower case, in which names are compared and searched. [`str::to_lowercase`] turns a Greek sigma
/// at the end of a word into another letter, so that a part of a word would not be found in it.
pub fn small_letters(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let small = text.chars().flat_map(char::to_lowercase);
    small.map(|letter| if letter == 'ς' { 'σ' } else { letter }).collect()
}

/// Removes the blanks at both ends, as v1 does. The separators U+001C to U+001F count as blanks, although they are no
/// white space to Rust.
pub fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c))
}

fn shorten(text: &str) -> String {
    if text.chars().count() <= 60 { text.into() } else { text.chars().take(60).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use super::{Cell, Kind, read_filter, small_letters};

    #[test]
    fn a_whole_number_of_any_length_is_one() {
        let read = |text: &str| read_filter(Kind::Integer, &[], text);
        let huge = "9".repeat(400);
        for (text, number) in [("7", 7.0), ("+7", 7.0), ("-07", -7.0), (huge.as_str(), i64::MAX as f64)] {
            assert_eq!(read(text), Ok(Cell::Number(number)), "{text}");
        }
        assert_eq!(read(&format!("-{huge}")), Ok(Cell::Number(i64::MIN as f64)));
        let not_quite = format!("{huge}x");
        for text in ["", "-", "+", "+-7", "7 ", "1.0", "1e3", "٧", not_quite.as_str()] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_part_of_a_word_is_found_in_it_in_small_letters_too() {
        for (whole, part) in
            [("ΟΔΟΣΤΡΩΜΑ", "ΟΔΟΣ"), ("ΟΔΟΣ", "οδος"), ("οδος", "ΟΔΟΣ"), ("οδός", "ΟΔΌΣ"), ("Ärger", "äR")]
        {
            assert!(small_letters(whole).contains(&small_letters(part)), "{whole} {part}");
        }
        for other in ["İzmir", "Straße", "ÅSE", "ﬁn", "Hello"] {
            assert_eq!(small_letters(other), other.to_lowercase());
        }
    }
}

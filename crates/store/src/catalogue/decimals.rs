//! Numbers as values of custom properties. A number is kept as a JSON number: a 64-bit integer or a double. A number
//! that would lose digits in this form is rejected: a read must return exactly the number that was written.
//!
//! May use: nothing of this crate.

use serde_json::Number;

/// Error message for a number that would lose digits.
pub const TOO_LONG: &str =
    "has more digits than a number is kept with, which is about 16; round it, or use a property of type TEXT";

/// Parses decimal notation into a number, if the number can be kept with all its digits.
pub fn read(text: &str) -> Option<Number> {
    let text = text.trim();
    let whole = text.parse::<i64>().map(Number::from).or_else(|_| text.parse::<u64>().map(Number::from));
    whole.ok().or_else(|| finite(text).filter(|float| is_kept(text, *float)).and_then(Number::from_f64))
}

/// Checks whether a text is the decimal notation of a number with any count of digits.
pub fn is_number(text: &str) -> bool {
    finite(text.trim()).is_some()
}

fn finite(text: &str) -> Option<f64> {
    let digits = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
    text.chars().all(digits).then(|| text.parse().ok()).flatten().filter(|float: &f64| float.is_finite())
}

/// Checks whether writing `float` gives the digits of `text` again.
fn is_kept(text: &str, float: f64) -> bool {
    significant(text).is_some_and(|digits| significant(&format!("{float:e}")) == Some(digits))
}

/// Returns the digits from the first to the last non-zero digit, and the power of ten of the last one.
fn significant(text: &str) -> Option<(String, i64)> {
    let (mantissa, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let mantissa = mantissa.trim_start_matches(['+', '-']);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let ended = digits.trim_end_matches('0');
    let started = ended.trim_start_matches('0');
    if started.is_empty() {
        return Some((String::new(), 0));
    }
    let behind = i64::try_from(fraction.len()).ok()? - i64::try_from(digits.len() - ended.len()).ok()?;
    Some((started.to_owned(), power.parse::<i64>().ok()?.checked_sub(behind)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_kept_with_all_its_digits_or_not_at_all() {
        for (text, kept) in [
            ("0.1", "0.1"),
            ("1.10", "1.1"),
            ("-0.50", "-0.5"),
            ("007", "7"),
            ("+3", "3"),
            (" 2.5 ", "2.5"),
            (".5", "0.5"),
            ("5.", "5.0"),
            ("1E3", "1000.0"),
            ("12.5e-1", "1.25"),
            ("0.000", "0.0"),
            ("0e999999", "0.0"),
            ("0.30000000000000004", "0.30000000000000004"),
            ("1234567890.123456", "1234567890.123456"),
            ("18446744073709551615", "18446744073709551615"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("100000000000000000000", "1e20"),
            ("5e-324", "5e-324"),
            ("1.7976931348623157e308", "1.7976931348623157e308"),
        ] {
            let read = read(text).map(|number| number.to_string());
            assert_eq!(read.as_deref().map(|kept| kept.replace("e+", "e")).as_deref(), Some(kept), "{text}");
        }
        for text in [
            "12345678901234567890.12",
            "0.1234567890123456789",
            "0.1000000000000000055511151231257827",
            "9007199254740993.0",
            "18446744073709551617",
            "1e-400",
            "123456789012345678901234567890",
        ] {
            assert!(is_number(text) && read(text).is_none(), "{text}");
        }
        for text in ["", ".", "e5", "1e", "1e999", "inf", "NaN", "0x1", "1_000", "--1", "1 2", "twelve"] {
            assert!(!is_number(text) && read(text).is_none(), "{text}");
        }
    }
}

//! Values of answers: whether two are the same, and their kind, so that a difference can be shown without showing text
//! that a person has written.
//!
//! May use: `store` (equality of numbers).

use crate::store::overlay_wins;
use jiff::Timestamp;
use jiff::civil::Date;
use serde_json::Value;
use uuid::Uuid;

/// Most digits of a second that are compared: all systems keep milliseconds or more.
const FINEST: usize = 3;

/// Checks whether two values that are no list and no object are the same.
pub(super) fn same(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Number(_), Value::Number(_)) => overlay_wins(ours, theirs),
        (Value::String(ours), Value::String(theirs)) => ours == theirs || same_instant(ours, theirs),
        _ => ours == theirs,
    }
}

/// Checks whether two texts are the same instant, with the precision of the less precise one.
fn same_instant(ours: &str, theirs: &str) -> bool {
    let (Some((ours, exact)), Some((theirs, as_exact))) = (instant(ours), instant(theirs)) else { return false };
    let digits = exact.min(as_exact).min(FINEST);
    let step = 10_i128.pow(9 - u32::try_from(digits).unwrap_or(0));
    // One side may cut off digits that the other rounds.
    (ours.as_nanosecond() - theirs.as_nanosecond()).abs() < step
}

/// Parses an instant; returns it with the number of digits after its second.
fn instant(text: &str) -> Option<(Timestamp, usize)> {
    if text.len() < 20 {
        return None;
    }
    let instant = text.parse().ok()?;
    let after = text.split_once('.').map_or("", |(_, after)| after);
    Some((instant, after.bytes().take_while(u8::is_ascii_digit).count()))
}

/// Longest value that is stored, in characters; a longer one is cut.
const LONGEST: usize = 200;

/// Describes the kind of a value; `nothing` when there is none.
pub(super) fn kind(value: Option<&Value>) -> String {
    match value {
        None => "nothing".into(),
        Some(Value::Null) => "null".into(),
        Some(Value::Bool(value)) => value.to_string(),
        Some(Value::Number(_)) => "a number".into(),
        Some(Value::Array(items)) => format!("a list of {}", items.len()),
        Some(Value::Object(_)) => "an object".into(),
        Some(Value::String(text)) if Uuid::try_parse(text).is_ok() => "a uuid".into(),
        Some(Value::String(text)) if text.parse::<Timestamp>().is_ok() => "an instant".into(),
        Some(Value::String(text)) if text.len() == 10 && text.parse::<Date>().is_ok() => "a date".into(),
        Some(Value::String(text)) => format!("a string of {}", text.chars().count()),
    }
}

/// Describes the kinds of two different values. When both have one kind, the second is called "another" of that kind.
pub(super) fn kinds(ours: Option<&Value>, theirs: Option<&Value>) -> (String, String) {
    let (ours, theirs) = (kind(ours), kind(theirs));
    if ours != theirs {
        return (ours, theirs);
    }
    let other = ours.trim_start_matches("an ").trim_start_matches("a ").to_owned();
    (ours, format!("another {other}"))
}

/// Returns the value itself, cut to its longest length; used only where values may be stored.
pub(super) fn exact(value: Option<&Value>) -> String {
    let text = value.map_or_else(|| "nothing".to_owned(), Value::to_string);
    text.chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn instants_are_as_exact_as_the_less_exact_one() {
        let same = |a: &str, b: &str| same(&json!(a), &json!(b));
        assert!(same("2026-11-22T10:00:00.123456Z", "2026-11-22T10:00:00.123Z"));
        assert!(same("2026-11-22T10:00:00.123999Z", "2026-11-22T10:00:00.124Z"));
        assert!(same("2026-11-22T10:00:00Z", "2026-11-22T10:00:00.999Z"));
        assert!(same("2026-11-22T10:00:00Z", "2026-11-22T11:00:00+01:00"));
        assert!(!same("2026-11-22T10:00:00.123Z", "2026-11-22T10:00:00.125Z"));
        assert!(!same("2026-11-22T10:00:00Z", "2026-11-22T10:00:01Z"));
        assert!(!same("2026-11-22", "2026-11-23"));
    }

    #[test]
    fn numbers_are_the_same_however_they_are_written() {
        assert!(same(&json!(1), &json!(1.0)) && !same(&json!(1), &json!(1.5)) && !same(&json!(1), &json!("1")));
        // As floats these are one number.
        assert!(!same(&json!(9_007_199_254_740_993_i64), &json!(9_007_199_254_740_992_i64)));
    }

    #[test]
    fn a_kind_tells_nothing_of_the_value() {
        for (value, told) in [
            (json!(null), "null"),
            (json!("secret words"), "a string of 12"),
            (json!("00000000-0000-4000-c000-000000000001"), "a uuid"),
            (json!("2026-11-22T10:00:00.123456Z"), "an instant"),
            (json!("2026-11-22"), "a date"),
            (json!(4.5), "a number"),
            (json!(["x"]), "a list of 1"),
            (json!({"x": 1}), "an object"),
        ] {
            assert_eq!(kind(Some(&value)), told);
        }
        assert_eq!(kinds(Some(&json!("a")), Some(&json!("b"))).1, "another string of 1");
        assert_eq!(kinds(Some(&json!(1)), Some(&json!(2))).1, "another number");
        assert_eq!(kinds(Some(&json!(1)), None).1, "nothing");
        assert_eq!(exact(Some(&json!("x".repeat(500)))).chars().count(), LONGEST);
    }
}

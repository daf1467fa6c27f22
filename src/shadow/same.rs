//! When two values of an answer are the same.
//!
//! May use: nothing of this crate.

use jiff::Timestamp;
use serde_json::Value;

/// Finest part of a second that is compared, in digits: systems keep milliseconds or more.
const FINEST: usize = 3;

/// Whether two values that are no list and no object are the same.
pub(super) fn same(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Number(ours), Value::Number(theirs)) => ours == theirs || ours.as_f64() == theirs.as_f64(),
        (Value::String(ours), Value::String(theirs)) => ours == theirs || same_instant(ours, theirs),
        _ => ours == theirs,
    }
}

/// Whether two texts are one instant, as exactly as the less exact of them says it.
fn same_instant(ours: &str, theirs: &str) -> bool {
    let (Some((ours, exact)), Some((theirs, as_exact))) = (instant(ours), instant(theirs)) else { return false };
    let digits = exact.min(as_exact).min(FINEST);
    let step = 10_i128.pow(9 - u32::try_from(digits).unwrap_or(0));
    // One may cut off what the other rounds.
    (ours.as_nanosecond() - theirs.as_nanosecond()).abs() < step
}

/// An instant, and how many digits of its second are written.
fn instant(text: &str) -> Option<(Timestamp, usize)> {
    if text.len() < 20 {
        return None;
    }
    let instant = text.parse().ok()?;
    let after = text.split_once('.').map_or("", |(_, after)| after);
    Some((instant, after.bytes().take_while(u8::is_ascii_digit).count()))
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
    }
}

//! A value of the overlay, and the rule that keeps it from masking a change made on v1.
//!
//! May use: nothing of this crate.

use serde_json::{Number, Value};

/// One overlaid field of one record.
#[derive(Debug, Clone, PartialEq)]
pub struct OverlayValue {
    /// v2 name of the field.
    pub field: String,
    /// The value that v1 cannot hold.
    pub value: Value,
    /// Value that v1 showed for the field when `value` was written; null where v1 shows nothing. An instant is in the
    /// zone of the person who wrote (trap 42, `tz_list_kim`); readers compare it as an instant.
    pub seen: Value,
}

impl OverlayValue {
    /// Creates `value` for `field`, written while v1 showed `seen`.
    pub fn new(field: impl Into<String>, value: Value, seen: Value) -> Self {
        Self { field: field.into(), value, seen }
    }
}

/// Checks whether an overlay value written while v1 showed `seen` still counts now that v1 shows `current`: it counts
/// only while v1 shows the same. Numbers are compared by value (v1 shows `65535.0` where it was given `65535`), all
/// other values as JSON, ignoring the order of an object's keys.
pub fn overlay_wins(seen: &Value, current: &Value) -> bool {
    match (seen, current) {
        (Value::Number(one), Value::Number(other)) => same_number(one, other),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| overlay_wins(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, value)| other.get(key).is_some_and(|there| overlay_wins(value, there)))
        }
        _ => seen == current,
    }
}

/// Compares by value; whole numbers exactly, also beyond the precision of a float.
fn same_number(one: &Number, other: &Number) -> bool {
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => one == other,
        _ => one.as_f64() == other.as_f64(),
    }
}

fn whole(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn the_overlay_counts_only_while_v1_shows_what_it_showed() {
        for (seen, current) in [
            (json!(null), json!(null)),
            (json!(65535), json!(65535.0)),
            (json!("UTC"), json!("UTC")),
            (json!({"a": 1, "b": [1.0, "x"]}), json!({"b": [1, "x"], "a": 1.0})),
            (json!(u64::MAX), json!(u64::MAX)),
        ] {
            assert!(overlay_wins(&seen, &current), "{seen} {current}");
            assert!(overlay_wins(&current, &seen), "{current} {seen}");
        }
        for (seen, current) in [
            (json!(null), json!("UTC")),
            (json!("UTC"), json!("utc")),
            (json!(1), json!("1")),
            (json!(0), json!(false)),
            (json!({}), json!({"a": null})),
            (json!([1, 2]), json!([2, 1])),
            (json!([1]), json!([1, 1])),
            (json!(u64::MAX), json!(u64::MAX - 1)),
            (json!(1), json!(1.5)),
        ] {
            assert!(!overlay_wins(&seen, &current), "{seen} {current}");
            assert!(!overlay_wins(&current, &seen), "{current} {seen}");
        }
    }

    proptest! {
        #[test]
        fn a_whole_number_is_its_float(number in -(1_i64 << 53)..(1_i64 << 53)) {
            prop_assert!(overlay_wins(&json!(number), &json!(number as f64)));
        }
    }
}

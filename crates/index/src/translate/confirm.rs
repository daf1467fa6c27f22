//! Check of a write: compares the stored record with what was sent, field by field.
//!
//! v1 ignores keys and drops values silently (traps 14, 15, 22), so a 200 proves nothing. Some values are rewritten by
//! v1 without a change of meaning and count as equal: trimmed text, instants in another zone, numbers
//! in another notation, sets in another order.
//!
//! May use: `plan`, `v2`, `refusal`.

use crate::plan::{Kind, Resource, ValueType};
use crate::refusal::Refusal;
use crate::v2::time;
use crate::v2::value::trimmed;
use serde_json::{Map, Value};
use std::collections::HashSet;

/// Fields in v2 names, sorted by whether v1 shows what was sent.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Checked<'r> {
    /// Shown as sent.
    pub kept: Vec<&'r str>,
    /// Shown with another value.
    pub lost: Vec<&'r str>,
    /// Not shown at all, so their value is unknown.
    pub missing: Vec<&'r str>,
}

impl Checked<'_> {
    /// Succeeds when v1 shows all fields as sent.
    ///
    /// # Errors
    /// [`Refusal::OutcomeUnknown`], naming the fields that were stored and those that were not.
    pub fn confirm(&self, resource: &Resource) -> Result<(), Refusal> {
        if self.lost.is_empty() && self.missing.is_empty() {
            return Ok(());
        }
        if self.lost.is_empty() {
            let missing = self.missing.join(", ");
            let what = format!("v1 accepted the write but does not show: {missing}.");
            return Err(Refusal::outcome_unknown(
                what,
                format!("not shown of {}: {missing}", resource.name),
                false,
            ));
        }
        let stored = if self.kept.is_empty() { "nothing else".to_owned() } else { self.kept.join(", ") };
        let lost = self.lost.join(", ");
        let detail = format!("v1 accepted the write but did not store: {lost}. Stored: {stored}.");
        let cause = format!("other values than were sent on {}: {lost}", resource.name);
        Err(Refusal::OutcomeUnknown { detail, cause, timed_out: false })
    }
}

/// Compares the sent members with what v1 shows, both in v1 names. Members that are no field of the resource are
/// ignored.
pub fn check<'r>(resource: &'r Resource, sent: &Map<String, Value>, shown: &Map<String, Value>) -> Checked<'r> {
    let mut checked = Checked::default();
    for (key, wanted) in sent {
        let Some(field) = resource.field_of_v1(key) else { continue };
        let Some(actual) = shown.get(key) else {
            checked.missing.push(field.name.as_str());
            continue;
        };
        let same = same(field.value, wanted, actual);
        let names = if same { &mut checked.kept } else { &mut checked.lost };
        names.push(field.name.as_str());
    }
    checked
}

/// Checks whether a whole record shows everything that was sent. A member that is no field of the resource must be
/// shown exactly as sent. v1 rewrites the HTML of work items, so such a text is rarely proven.
pub fn shows_all(resource: &Resource, sent: &Map<String, Value>, shown: &Map<String, Value>) -> bool {
    let checked = check(resource, sent, shown);
    let others = sent.iter().filter(|(key, _)| resource.field_of_v1(key).is_none());
    checked.lost.is_empty()
        && checked.missing.is_empty()
        && others.into_iter().all(|(key, wanted)| shown.get(key) == Some(wanted))
}

fn same(kind: ValueType, wanted: &Value, actual: &Value) -> bool {
    match (kind, wanted, actual) {
        (ValueType::One(Kind::DateTime), Value::String(a), Value::String(b)) => same_instant(a, b),
        (ValueType::Array(_), Value::Array(a), Value::Array(b)) => is_same_set(a, b),
        (_, Value::String(a), Value::String(b)) => trimmed(a) == trimmed(b),
        (_, Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (_, a, b) => a == b,
    }
}

/// Checks whether both hold the same elements, in any order and any number of times.
pub fn is_same_set(a: &[Value], b: &[Value]) -> bool {
    a.iter().collect::<HashSet<_>>() == b.iter().collect::<HashSet<_>>()
}

fn same_instant(a: &str, b: &str) -> bool {
    match (time::read_instant(a), time::read_instant(b)) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn text_is_the_same_without_the_blanks_v1_takes_away() {
        let text = ValueType::One(Kind::String);
        assert!(same(text, &json!("\u{1f} a\u{a0}"), &json!("a")));
        assert!(!same(text, &json!("a\u{1f}b"), &json!("ab")));
    }
}

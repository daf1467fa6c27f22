//! Did v1 do what was asked? The stored record compared with the intent, field by field.
//!
//! v1 ignores keys and drops values silently (traps 14, 15, 22), so a 200 proves nothing. Values that v1
//! rewrites without changing their meaning count as equal: trimmed text, instants in another zone, numbers
//! in another notation, sets in another order.
//!
//! May use: `plan`, `v2`, `refusal`.

use crate::plan::{Kind, Resource, ValueType};
use crate::refusal::Refusal;
use crate::v2::time;
use crate::v2::value::trimmed;
use serde_json::{Map, Value};

/// Fields in v2 names, by whether v1 shows what was sent.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Compared<'r> {
    /// Shown as sent.
    pub kept: Vec<&'r str>,
    /// Shown with another value.
    pub lost: Vec<&'r str>,
}

impl Compared<'_> {
    /// Success when nothing was lost.
    ///
    /// # Errors
    /// `upstream_error` naming what was stored and what not.
    pub fn confirm(&self, resource: &Resource) -> Result<(), Refusal> {
        if self.lost.is_empty() {
            return Ok(());
        }
        let stored = if self.kept.is_empty() { "nothing else".to_owned() } else { self.kept.join(", ") };
        let lost = self.lost.join(", ");
        let detail = format!("v1 accepted the write but did not store: {lost}. Stored: {stored}.");
        Err(Refusal::upstream(detail, format!("intent not met on {}: {lost}", resource.name)))
    }
}

/// Compares what was sent with what v1 shows, both in v1 names; members v1 does not show are not judged.
pub fn compare<'r>(resource: &'r Resource, sent: &Map<String, Value>, shown: &Map<String, Value>) -> Compared<'r> {
    let mut compared = Compared::default();
    for (key, wanted) in sent {
        let Some(field) = resource.fields.iter().find(|field| field.v1.as_deref() == Some(key)) else { continue };
        let Some(actual) = shown.get(key) else { continue };
        let same = same(field.value, wanted, actual);
        let names = if same { &mut compared.kept } else { &mut compared.lost };
        names.push(field.name.as_str());
    }
    compared
}

/// [`compare`] and [`Compared::confirm`] in one.
///
/// # Errors
/// `upstream_error` naming what was stored and what not.
pub fn confirm(resource: &Resource, sent: &Map<String, Value>, shown: &Map<String, Value>) -> Result<(), Refusal> {
    compare(resource, sent, shown).confirm(resource)
}

fn same(kind: ValueType, wanted: &Value, actual: &Value) -> bool {
    match (kind, wanted, actual) {
        (ValueType::One(Kind::DateTime), Value::String(a), Value::String(b)) => same_instant(a, b),
        (ValueType::Array(_), Value::Array(a), Value::Array(b)) => {
            a.iter().all(|element| b.contains(element)) && b.iter().all(|element| a.contains(element))
        }
        (_, Value::String(a), Value::String(b)) => trimmed(a) == trimmed(b),
        (_, Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (_, a, b) => a == b,
    }
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

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
use serde_json::{Map, Value};

/// Compares what was sent with what v1 shows, both in v1 names; members v1 does not show are not judged.
///
/// # Errors
/// `upstream_error` naming what was stored and what not.
pub fn confirm(resource: &Resource, sent: &Map<String, Value>, shown: &Map<String, Value>) -> Result<(), Refusal> {
    let mut lost = Vec::new();
    let mut kept = Vec::new();
    for (key, wanted) in sent {
        let Some(field) = resource.fields.iter().find(|field| field.v1.as_deref() == Some(key)) else { continue };
        let Some(actual) = shown.get(key) else { continue };
        let names = if same(field.value, wanted, actual) { &mut kept } else { &mut lost };
        names.push(field.name.as_str());
    }
    if lost.is_empty() {
        return Ok(());
    }
    let stored = if kept.is_empty() { "nothing else".to_owned() } else { kept.join(", ") };
    let detail = format!("v1 accepted the write but did not store: {}. Stored: {stored}.", lost.join(", "));
    Err(Refusal::upstream(detail, format!("intent not met on {}: {}", resource.name, lost.join(", "))))
}

fn same(kind: ValueType, wanted: &Value, actual: &Value) -> bool {
    match (kind, wanted, actual) {
        (ValueType::One(Kind::DateTime), Value::String(a), Value::String(b)) => same_instant(a, b),
        (ValueType::Array(_), Value::Array(a), Value::Array(b)) => {
            a.iter().all(|element| b.contains(element)) && b.iter().all(|element| a.contains(element))
        }
        (_, Value::String(a), Value::String(b)) => a.trim() == b.trim(),
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

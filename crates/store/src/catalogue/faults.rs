//! Members of a body: read by name, with every fault collected for one answer (O29).
//!
//! Members that an operation declares with a kind are already checked. `options`, `default_value` and the free objects
//! arrive as sent and are checked here, with dotted names (O28). May use: `refusal`, `v2`.

pub(super) use crate::refusal::FieldErrors as Faults;
use crate::v2::body::Given;
use crate::v2::value::read_uuid;
use serde_json::Value;
use uuid::Uuid;

/// Greatest length of a name, an external id and an external source.
pub(super) const LONGEST: usize = 255;

/// Adds the fault and returns `None`, so that the caller continues without the value.
pub(super) fn none<T>(faults: &mut Faults, field: &str, message: impl Into<String>) -> Option<T> {
    faults.add(field, message);
    None
}

/// Replaces the stored value by the sent value, if there is one.
pub(super) fn take<T>(place: &mut T, sent: Option<T>) {
    if let Some(sent) = sent {
        *place = sent;
    }
}

/// Returns a text member that was sent and is not null.
pub(super) fn text(given: &Given, name: &str) -> Option<String> {
    given.get(name).and_then(Value::as_str).map(str::to_owned)
}

/// Returns a nullable text member: `None` when it was not sent.
pub(super) fn nullable_text(given: &Given, name: &str) -> Option<Option<String>> {
    given.get(name).map(|value| value.as_str().map(str::to_owned))
}

pub(super) fn flag(given: &Given, name: &str) -> Option<bool> {
    given.get(name).and_then(Value::as_bool)
}

/// Returns a list of ids that was sent; its elements were checked with the body.
pub(super) fn ids(given: &Given, name: &str) -> Option<Vec<Uuid>> {
    let elements = given.get(name)?.as_array()?;
    Some(elements.iter().filter_map(|element| read_uuid(element.as_str()?)).collect())
}

/// Returns a free object that was sent (O71); null is not an object (O8).
pub(super) fn object(given: &Given, name: &str, faults: &mut Faults) -> Option<Value> {
    match given.get(name)? {
        value @ Value::Object(_) => Some(value.clone()),
        _ => none(faults, name, "must be an object"),
    }
}

/// Text in the place of an element that is no string, for which [`strings`] added the fault. No good text contains it.
pub(super) const FAULTY: char = '\0';

/// Returns an array of strings that was sent. Each text keeps its place, so that further faults name the right element.
/// A faulty one contains [`FAULTY`].
pub(super) fn strings(given: &Given, name: &str, faults: &mut Faults) -> Option<Vec<String>> {
    let elements = match given.get(name)? {
        Value::Array(elements) => elements,
        _ => return none(faults, name, "must be an array of strings"),
    };
    let mut texts = Vec::with_capacity(elements.len());
    for (index, element) in elements.iter().enumerate() {
        match element.as_str() {
            Some(text) if !text.contains(FAULTY) => {}
            Some(_) => faults.add(format!("{name}.{index}"), "must not contain NUL characters"),
            None => faults.add(format!("{name}.{index}"), "must be a string"),
        }
        texts.push(element.as_str().map_or_else(|| FAULTY.into(), str::to_owned));
    }
    Some(texts)
}

/// Formats ids as one list for a message.
pub(super) fn listed(ids: &[Uuid]) -> String {
    ids.iter().map(Uuid::to_string).collect::<Vec<_>>().join(", ")
}

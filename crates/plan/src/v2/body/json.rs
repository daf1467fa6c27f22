//! The bytes of a body as JSON. May use: `refusal`.

use crate::refusal::Refusal;
use serde_json::{Map, Value};

/// Most entries of one array, and members of one object, anywhere in a body.
pub const MOST_ENTRIES: usize = 1000;

/// Parses the bytes of a body into an object; an empty body is an empty object.
///
/// # Errors
/// `validation_error` for a wrong media type, bytes that are not JSON, or JSON that is no object (O5).
pub fn parse(content_type: Option<&str>, bytes: &[u8]) -> Result<Map<String, Value>, Refusal> {
    if bytes.is_empty() {
        return Ok(Map::new());
    }
    let media = content_type.map(|text| text.split(';').next().unwrap_or("").trim().to_ascii_lowercase());
    if media.is_some_and(|media| media != "application/json") {
        return Err(Refusal::invalid("The body must be JSON, sent with Content-Type: application/json."));
    }
    match serde_json::from_slice::<Value>(bytes) {
        Ok(Value::Object(members)) => match members.iter().find_map(|(name, value)| crowded(value).then_some(name))
        {
            Some(name) => Err(Refusal::field(name, format!("must not hold more than {MOST_ENTRIES} entries"))),
            None => Ok(members),
        },
        Ok(_) => Err(Refusal::invalid("The body must be a JSON object.")),
        Err(fault) => Err(Refusal::invalid(format!("The body cannot be read as JSON: {fault}."))),
    }
}

/// Whether an array or object in `value` has more entries than anything needs; the cost of a write for the gateway may
/// grow with the square of their number.
fn crowded(value: &Value) -> bool {
    match value {
        Value::Array(elements) => elements.len() > MOST_ENTRIES || elements.iter().any(crowded),
        Value::Object(members) => members.len() > MOST_ENTRIES || members.values().any(crowded),
        _ => false,
    }
}

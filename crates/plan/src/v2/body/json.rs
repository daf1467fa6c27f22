//! Parsing of the bytes of a body as JSON. May use: `json`, `refusal`.

use crate::json::SafeJson;
use crate::refusal::Refusal;
use serde_json::{Map, Value};

/// Maximum number of entries of one array, and of members of one object, anywhere in a body.
pub const MOST_ENTRIES: usize = 1000;
/// Maximum nesting of arrays and objects in a body, the body included. `serde_json` reads 127 levels, and stored parts
/// of a body are read again some levels deeper: inside their record, and the record inside a list.
pub const MOST_LEVELS: usize = 100;
/// Beginning of the member names that have a special meaning for `serde_json` (see `json`). Code that reads a stored
/// body later may not know that meaning.
const RESERVED: &str = "$serde_json::private::";

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
    match serde_json::from_slice(bytes).map(|SafeJson(value)| value) {
        Ok(Value::Object(members)) => {
            if let Some(name) = reserved_in(&members) {
                let fault = format!("no member can have the name {name:.60}");
                return Err(Refusal::invalid(format!("The body cannot be read as JSON: {fault}.")));
            }
            match members.iter().find_map(|(name, value)| Some((name, beyond_limits(value, 2)?))) {
                Some((name, message)) => Err(Refusal::field(name, message)),
                None => Ok(members),
            }
        }
        Ok(_) => Err(Refusal::invalid("The body must be a JSON object.")),
        Err(fault) => Err(Refusal::invalid(format!("The body cannot be read as JSON: {fault}."))),
    }
}

/// Returns the limit that `value`, at this level of a body, exceeds. The limits exist because the cost of a write may
/// grow with the square of the number of entries.
fn beyond_limits(value: &Value, level: usize) -> Option<String> {
    let (entries, inside) = match value {
        Value::Array(elements) => (elements.len(), elements.iter().find_map(|one| beyond_limits(one, level + 1))),
        Value::Object(members) => (members.len(), members.values().find_map(|one| beyond_limits(one, level + 1))),
        _ => return None,
    };
    if level > MOST_LEVELS {
        return Some(format!("must not nest more than {MOST_LEVELS} levels deep"));
    }
    if entries > MOST_ENTRIES { Some(format!("must not hold more than {MOST_ENTRIES} entries")) } else { inside }
}

/// Returns a reserved name, if a member at any level has one.
fn reserved_in(members: &Map<String, Value>) -> Option<&str> {
    fn inside(value: &Value) -> Option<&str> {
        match value {
            Value::Array(elements) => elements.iter().find_map(inside),
            Value::Object(members) => reserved_in(members),
            _ => None,
        }
    }
    members.iter().find_map(|(name, value)| if name.starts_with(RESERVED) { Some(&**name) } else { inside(value) })
}

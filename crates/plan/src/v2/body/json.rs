//! The bytes of a body as JSON. May use: `json`, `refusal`.

use crate::json::AsWritten;
use crate::refusal::Refusal;
use serde_json::{Map, Value};

/// Most entries of one array, and members of one object, anywhere in a body.
pub const MOST_ENTRIES: usize = 1000;
/// Most arrays and objects within each other in a body, itself included. `serde_json` reads 127, and what is kept of a body
/// is read again some levels deeper: in its record, and that in a list.
pub const MOST_LEVELS: usize = 100;
/// How the names begin that stand for something else than a member to `serde_json` (`json`). What is stored of a body
/// may be read by those who do not know that.
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
    match serde_json::from_slice(bytes).map(|AsWritten(value)| value) {
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

/// How `value`, which stands at this level of a body, is larger than anything needs: the cost of a write for the gateway
/// may grow with the square of the number of entries.
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

/// A reserved name, if any member has one, or one within them.
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

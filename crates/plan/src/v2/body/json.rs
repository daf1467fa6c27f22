//! The bytes of a body as JSON. May use: `refusal`.

use crate::refusal::Refusal;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

/// Most entries of one array, and members of one object, anywhere in a body.
pub const MOST_ENTRIES: usize = 1000;
/// Most arrays and objects within each other in a body, itself included. `serde_json` reads 127, and what is kept of a body
/// is read again some levels deeper: in its record, and that in a list.
pub const MOST_LEVELS: usize = 100;

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
    match serde_json::from_slice(bytes).map(|Sent(value)| value) {
        Ok(Value::Object(members)) => {
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

/// How the names begin that stand for something else than a member to `serde_json`. As a [`Value`] reads itself, an object
/// whose first member is `$serde_json::private::RawValue` becomes whatever JSON the text in it is: that nests deeper than
/// the body does, and what is stored of it is read as something else, or not at all. So they are refused here.
const RESERVED: &str = "$serde_json::private::";

/// A value as it was sent, without reserved names.
struct Sent(Value);

impl<'de> Deserialize<'de> for Sent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AsSent).map(Self)
    }
}

struct AsSent;

impl<'de> Visitor<'de> for AsSent {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(flag.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(Sent(entry)) = entries.next_element()? {
            array.push(entry);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if name.starts_with(RESERVED) {
                return Err(A::Error::custom(format_args!("no member can have the name {name:.60}")));
            }
            let Sent(value) = members.next_value()?;
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

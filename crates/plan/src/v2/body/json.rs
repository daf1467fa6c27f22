//! The bytes of a body as JSON. May use: `refusal`.

use crate::refusal::Refusal;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

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
    match serde_json::from_slice(bytes).map(|Sent(value)| value) {
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

//! JSON from other systems, read exactly as written.
//!
//! `serde_json`'s own [`Value`] does not read an object whose first member is called `$serde_json::private::RawValue`
//! as an object. It takes the JSON in the text of that member: another value, or none at all. It also does not read
//! more than 127 levels. v1's pages can store both, and so could bodies once. Here every name is an ordinary name, and
//! a value that nests too deep is null.
//!
//! May use: nothing of this crate.

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

/// Maximum nesting of arrays and objects; the next one reads as null. A few less than `serde_json` reads, to leave room
/// for the levels around them.
pub const MOST_LEVELS: usize = 120;

/// A value exactly as written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SafeJson(pub Value);

impl<'de> Deserialize<'de> for SafeJson {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        DepthReader(0).deserialize(from).map(Self)
    }
}

/// Reads the members of an object. Of two members with one name the last counts.
///
/// # Errors
/// Fails for anything that is not an object.
pub fn members(text: &[u8]) -> serde_json::Result<Map<String, Value>> {
    let read: Members = serde_json::from_slice(text)?;
    Ok(read.0)
}

/// Returns the text of a member's value as [`members`] reads it: a value that nests too deep is null. `None` when the
/// text surely stays the same.
///
/// # Errors
/// Fails for anything that is not a value.
pub fn cut_to_max_depth(text: &str) -> serde_json::Result<Option<String>> {
    // Brackets inside texts count too, so this is an upper bound of the nesting.
    if text.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count() < MOST_LEVELS {
        return Ok(None);
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = DepthReader(1).deserialize(&mut reader)?;
    reader.end()?;
    Ok(Some(value.to_string()))
}

struct Members(Map<String, Value>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, given: A) -> Result<Members, A::Error> {
                object(given, 1).map(Members)
            }
        }
        from.deserialize_map(Object)
    }
}

/// Reads a value that has this number of arrays and objects around it.
struct DepthReader(usize);

impl<'de> DeserializeSeed<'de> for DepthReader {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for DepthReader {
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

    fn visit_seq<A: SeqAccess<'de>>(self, mut given: A) -> Result<Value, A::Error> {
        if self.0 == MOST_LEVELS {
            while given.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(Value::Null);
        }
        let mut array = Vec::new();
        while let Some(one) = given.next_element_seed(DepthReader(self.0 + 1))? {
            array.push(one);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut given: A) -> Result<Value, A::Error> {
        if self.0 == MOST_LEVELS {
            while given.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(Value::Null);
        }
        object(given, self.0 + 1).map(Value::Object)
    }
}

fn object<'de, A: MapAccess<'de>>(mut given: A, level: usize) -> Result<Map<String, Value>, A::Error> {
    let mut members = Map::new();
    while let Some(name) = given.next_key::<String>()? {
        members.insert(name, given.next_value_seed(DepthReader(level))?);
    }
    Ok(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> serde_json::Result<Value> {
        serde_json::from_str(text).map(|SafeJson(value)| value)
    }

    #[test]
    fn every_name_is_a_name() {
        for text in [
            r#"{"$serde_json::private::RawValue":"[1]"}"#,
            r#"{"$serde_json::private::RawValue":"no JSON"}"#,
            r#"{"$serde_json::private::RawValue":7,"a":null}"#,
            r#"[{"$serde_json::private::Number":"x"}]"#,
            r#"{"a":[null,true,-1,18446744073709551615,0.5,"ä",{"b":{}}]}"#,
        ] {
            assert_eq!(read(text).expect("a value").to_string(), text);
        }
        let named = br#"{"$serde_json::private::RawValue":{"$serde_json::private::RawValue":""}}"#;
        assert_eq!(Value::Object(members(named).expect("an object")).to_string().as_bytes(), named);
        assert!(serde_json::from_slice::<Value>(named).is_err(), "without this they are something else");
    }

    #[test]
    fn a_value_that_nests_too_deep_becomes_null() {
        let nested = |inside: &str, levels: usize| format!("{}{inside}{}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(
            read(&nested("[]", MOST_LEVELS - 1)).expect("a value").to_string(),
            nested("[]", MOST_LEVELS - 1)
        );
        for deep in [nested("[1]", MOST_LEVELS), nested(r#"{"a":1}"#, MOST_LEVELS), nested("", 100_000)] {
            assert_eq!(read(&deep).expect("a value").to_string(), nested("null", MOST_LEVELS));
        }
        assert!(members(format!("{{\"a\":{}}}", nested("", 500)).as_bytes()).is_ok());
    }

    #[test]
    fn a_member_is_the_same_whether_it_is_read_alone_or_in_its_object() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        for levels in [1, MOST_LEVELS - 1, MOST_LEVELS, MOST_LEVELS + 1, 500] {
            let text = nested(levels);
            let object = members(format!("{{\"a\":{text}}}").as_bytes()).expect("an object");
            let alone = cut_to_max_depth(&text).expect("a value");
            assert_eq!(alone.is_some(), levels >= MOST_LEVELS, "{levels}");
            assert_eq!(alone.unwrap_or(text), object["a"].to_string(), "{levels}");
        }
        assert!(cut_to_max_depth(&format!("{} 1", nested(500))).is_err());
    }

    #[test]
    fn invalid_json_is_rejected() {
        for text in ["", "{", "[1,]", "{\"a\":1e999}", "{} {}"] {
            assert!(read(text).is_err() && members(text.as_bytes()).is_err(), "{text}");
        }
        assert!(members(b"[]").is_err() && members(b"null").is_err());
        let deep = "[".repeat(MOST_LEVELS + 20);
        assert!(read(&deep).is_err(), "one that is cut off");
    }
}

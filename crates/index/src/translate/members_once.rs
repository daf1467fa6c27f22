//! Reader of a v1 JSON object that rejects repeated members, because it is unknown which of two values counts.
//!
//! May use: `json`, this folder.

use super::Fault;
use crate::json::SafeJson;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

struct Once(Map<String, Value>);

impl<'de> Deserialize<'de> for Once {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Once;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Once, A::Error> {
                let mut members = Map::new();
                while let Some((key, SafeJson(value))) = map.next_entry::<String, SafeJson>()? {
                    if members.contains_key(&key) {
                        return Err(A::Error::custom(format!("`{key}` stands twice")));
                    }
                    members.insert(key, value);
                }
                Ok(Once(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// Reads the members of an object.
///
/// # Errors
/// The body is no object, or a member occurs twice.
pub fn members_once(body: &[u8]) -> Result<Map<String, Value>, Fault> {
    serde_json::from_slice::<Once>(body).map(|once| once.0).map_err(|fault| Fault(fault.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_stands_twice_is_a_fault() {
        assert_eq!(members_once(br#"{"a": 1, "b": {"a": 2}}"#).unwrap().len(), 2);
        for body in [r#"{"a": 1, "a": 1}"#, "[]", "null", "", r#"{"a": 1} 2"#] {
            assert!(members_once(body.as_bytes()).is_err(), "{body}");
        }
    }
}

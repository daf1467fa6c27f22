//! Parameters of a request: form-encoded or as a JSON object, each at most once (RFC 6749, 3.1 and 3.2).
//!
//! May use: `error`.

use super::error::OAuthError;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Largest number of parameters of a request.
const MOST: usize = 64;

/// Named texts. A parameter without a value counts as absent (RFC 6749, 3.1).
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Form {
    values: BTreeMap<String, String>,
    repeated: BTreeSet<String>,
}

impl fmt::Debug for Form {
    /// Shows only names, because values are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}

impl Form {
    /// Reads `application/x-www-form-urlencoded`. Returns `None` when it is not UTF-8 or has too many parameters.
    pub fn urlencoded(bytes: &[u8]) -> Option<Self> {
        let mut form = Self::default();
        for (count, (name, value)) in form_urlencoded::parse(bytes).enumerate() {
            // The replacement character stands for bytes that are not UTF-8.
            if count >= MOST || name.contains('\u{fffd}') || value.contains('\u{fffd}') {
                return None;
            }
            form.insert(name.into_owned(), value.into_owned());
        }
        Some(form)
    }

    /// Reads a JSON object of texts. Members of other types are rejected; null counts as absent.
    pub fn json(bytes: &[u8]) -> Option<Self> {
        let mut form = Self::default();
        let Members(members) = serde_json::from_slice(bytes).ok()?;
        if members.len() > MOST {
            return None;
        }
        for (name, value) in members {
            match value {
                Value::String(text) => form.insert(name, text),
                Value::Null => form.insert(name, String::new()),
                _ => return None,
            }
        }
        Some(form)
    }

    /// Reads a body by its content type.
    pub fn body(content_type: Option<&str>, bytes: &[u8]) -> Result<Self, OAuthError> {
        let essence = content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
        let form = match essence.to_ascii_lowercase().as_str() {
            "application/x-www-form-urlencoded" => Self::urlencoded(bytes),
            "application/json" => Self::json(bytes),
            _ => {
                return Err(OAuthError::invalid_request(
                    "Send application/x-www-form-urlencoded or application/json.",
                ));
            }
        };
        let form = form.ok_or_else(|| OAuthError::invalid_request("The body cannot be read."))?;
        match form.repeated.first() {
            Some(_) => Err(OAuthError::invalid_request("A parameter is repeated.")),
            None => Ok(form),
        }
    }

    fn insert(&mut self, name: String, value: String) {
        match self.values.entry(name) {
            Entry::Vacant(place) => {
                place.insert(value);
            }
            Entry::Occupied(known) => {
                self.repeated.insert(known.key().clone());
            }
        }
    }

    /// Returns the parameter, when it has a value.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Returns the parameter, or an error when it has no value.
    pub fn need(&self, name: &str) -> Result<&str, OAuthError> {
        self.get(name).ok_or_else(|| OAuthError::invalid_request(format!("{name} is missing.")))
    }

    /// Returns the names that occurred more than once.
    pub fn repeated(&self) -> &BTreeSet<String> {
        &self.repeated
    }
}

/// The members of a JSON object in their order, including members with a repeated name.
struct Members(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reading;
        impl<'de> Visitor<'de> for Reading {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        from.deserialize_map(Reading)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: Option<&str> = Some("application/x-www-form-urlencoded; charset=UTF-8");

    #[test]
    fn both_forms_say_the_same() {
        let form = Form::body(FORM, b"grant_type=x&scope=read+write&empty=").unwrap();
        let json = Form::body(Some("Application/JSON"), br#"{"grant_type":"x","scope":"read write","empty":null}"#);
        for form in [form, json.unwrap()] {
            assert_eq!(
                (form.get("grant_type"), form.get("scope"), form.get("empty")),
                (Some("x"), Some("read write"), None)
            );
        }
    }

    #[test]
    fn invalid_forms_are_refused() {
        let many = "a=1&".repeat(65);
        for (kind, body) in [
            (FORM, "a=1&a=2"),
            (FORM, "a=%ff"),
            (FORM, many.as_str()),
            (Some("application/json"), r#"{"a":"1","a":"2"}"#),
            (Some("application/json"), r#"{"a":"1","a":null}"#),
            (Some("application/json"), "[1]"),
            (Some("application/json"), r#"{"a":1}"#),
            (Some("application/json"), "{"),
            (Some("text/plain"), "a=1"),
            (None, "a=1"),
        ] {
            assert_eq!(Form::body(kind, body.as_bytes()).unwrap_err().error, "invalid_request", "{body}");
        }
    }

    #[test]
    fn values_are_not_shown() {
        assert!(!format!("{:?}", Form::urlencoded(b"code=hidden").unwrap()).contains("hidden"));
    }
}

//! The read shapes of the contract: a validator for the subset of JSON Schema that
//! `fixtures/contract/resources.json` uses.
//!
//! A keyword this file does not know fails the validation, so that nothing passes by not being looked at.
//! May use: the contract in `fixtures/`.

use serde_json::{Map, Value};
use std::path::Path;

/// Words that describe and do not restrict.
const SILENT: [&str; 7] = ["description", "examples", "readOnly", "writeOnly", "title", "default", "deprecated"];

/// The shapes by name.
pub struct Shapes {
    definitions: Map<String, Value>,
}

impl Shapes {
    /// Reads the contract.
    pub fn load() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/contract/resources.json");
        let text = std::fs::read_to_string(path).expect("the contract");
        let mut all: Value = serde_json::from_str(&text).expect("the contract is JSON");
        let Value::Object(definitions) = all["$defs"].take() else { panic!("the contract has definitions") };
        Self { definitions }
    }

    /// What is wrong with `value` as a `shape`; empty when nothing is.
    pub fn faults(&self, shape: &str, value: &Value) -> Vec<String> {
        let mut faults = Vec::new();
        self.check(&self.definitions[shape], value, shape, &mut faults);
        faults
    }

    fn check(&self, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
        let Some(schema) = schema.as_object() else {
            if schema == &Value::Bool(false) {
                faults.push(format!("{at} must not be there: {value}"));
            }
            return;
        };
        for (word, rule) in schema {
            let fits = match word.as_str() {
                "type" => has_type(rule, value),
                "enum" => rule.as_array().is_some_and(|allowed| allowed.contains(value)),
                "const" => rule == value,
                "format" => has_format(rule, value),
                "maxLength" => value.as_str().is_none_or(|text| text.chars().count() as u64 <= number(rule)),
                "minimum" => value.as_i64().is_none_or(|n| n >= number(rule) as i64),
                "maximum" => value.as_i64().is_none_or(|n| n <= number(rule) as i64),
                "required" => has_members(rule, value),
                "$ref" => {
                    let name = rule.as_str().and_then(|to| to.strip_prefix("#/$defs/")).expect("a local reference");
                    self.check(&self.definitions[name], value, at, faults);
                    true
                }
                "if" => {
                    let mut unfit = Vec::new();
                    self.check(rule, value, at, &mut unfit);
                    let branch = if unfit.is_empty() { "then" } else { "else" };
                    self.check(schema.get(branch).unwrap_or(&Value::Bool(true)), value, at, faults);
                    true
                }
                // Looked at with "if".
                "then" | "else" => true,
                "items" => {
                    for (index, element) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(rule, element, &format!("{at}[{index}]"), faults);
                    }
                    true
                }
                "properties" => {
                    for (name, member) in value.as_object().into_iter().flatten() {
                        if let Some(schema) = rule.get(name) {
                            self.check(schema, member, &format!("{at}.{name}"), faults);
                        }
                    }
                    true
                }
                "additionalProperties" => rule != &Value::Bool(false) || is_closed(schema, value),
                other => other.starts_with("x-") || SILENT.contains(&other),
            };
            if !fits {
                faults.push(format!("{at}: {value} breaks {word}: {rule}"));
            }
        }
    }
}

fn number(rule: &Value) -> u64 {
    rule.as_u64().expect("a natural number")
}

fn has_type(rule: &Value, value: &Value) -> bool {
    let is = |name: &Value| match name.as_str().expect("a type") {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "null" => value.is_null(),
        other => panic!("type {other}"),
    };
    match rule {
        Value::Array(names) => names.iter().any(is),
        name => is(name),
    }
}

fn has_format(rule: &Value, value: &Value) -> bool {
    let Some(text) = value.as_str() else { return true };
    match rule.as_str().expect("a format") {
        "uuid" => uuid::Uuid::try_parse(text).is_ok_and(|id| id.to_string() == text),
        // Instants leave the gateway in UTC with six digits, whoever asked (trap 42).
        "date-time" => {
            text.len() == 27
                && text.ends_with('Z')
                && &text[19..20] == "."
                && text.parse::<jiff::Timestamp>().is_ok()
        }
        "date" => text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
        "uri" => text.parse::<http::Uri>().is_ok_and(|uri| uri.scheme().is_some()),
        "email" => text.contains('@'),
        other => panic!("format {other}"),
    }
}

fn has_members(rule: &Value, value: &Value) -> bool {
    let Some(members) = value.as_object() else { return true };
    rule.as_array().into_iter().flatten().filter_map(Value::as_str).all(|name| members.contains_key(name))
}

fn is_closed(schema: &Map<String, Value>, value: &Value) -> bool {
    let Some(members) = value.as_object() else { return true };
    members.keys().all(|name| schema.get("properties").is_some_and(|known| known.get(name).is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn wrong_values_are_found() {
        let shapes = Shapes::load();
        let good = json!({"id": "00000000-0000-4000-a000-000000000001", "email": "a@b", "display_name": "ada",
            "principal_kind": "api_key", "scopes": []});
        assert_eq!(shapes.faults("CurrentUser", &good), Vec::<String>::new());
        for (name, wrong) in [
            ("id", json!("00000000-0000-4000-A000-000000000001")),
            ("display_name", Value::Null),
            ("principal_kind", json!("user")),
            ("scopes", json!([1])),
            ("surplus", json!(1)),
        ] {
            let mut bad = good.clone();
            bad[name] = wrong;
            assert_eq!(shapes.faults("CurrentUser", &bad).len(), 1, "{name}");
        }
        let mut lacking = good;
        lacking.as_object_mut().unwrap().remove("email");
        assert_eq!(shapes.faults("CurrentUser", &lacking).len(), 1);
    }
}

//! The read shapes of the contract and of an OpenAPI document, and the faults of a value measured by them.
//!
//! `jsonschema` evaluates JSON Schema; this file defines the formats, and a format it does not name fails.
//! May use: the contract in `fixtures/`.

use jsonschema::Validator;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex};

/// The gateway's additional codes, a closed list.
pub const ADDED_CODES: &[&str] = &[
    "upstream_error",
    "upstream_unavailable",
    "upstream_timeout",
    "overloaded",
    "deadline_exceeded",
    "index_building",
    "store_unavailable",
    "not_implemented",
    "precondition_failed",
    "idempotency_key_reused",
    "idempotency_in_progress",
];

/// Shapes of `fixtures/contract/resources.json` for everything the gateway sends.
pub static SENT: LazyLock<Shapes> = LazyLock::new(|| Shapes::new(contract(), is_sent_instant));

/// Shapes by name.
pub struct Shapes {
    definitions: Value,
    is_instant: fn(&str) -> bool,
    /// Validators used so far, by their schema.
    validators: Mutex<HashMap<Value, Arc<Validator>>>,
}

impl Shapes {
    /// The shapes of an OpenAPI document.
    pub fn of_a_document(document: &Value) -> Self {
        Self::new(local(&document["components"]["schemas"]), is_instant)
    }

    fn new(definitions: Value, is_instant: fn(&str) -> bool) -> Self {
        Self { definitions, is_instant, validators: Mutex::default() }
    }

    /// Returns the faults of `value` as a `name`; empty when it is valid.
    pub fn faults(&self, name: &str, value: &Value) -> Vec<String> {
        self.faults_as(&json!({"$ref": format!("#/$defs/{name}")}), value)
    }

    /// Returns the faults of `value` by `schema`, which may refer to the shapes.
    pub fn faults_as(&self, schema: &Value, value: &Value) -> Vec<String> {
        let known = self.validators.lock().expect("a lock").get(schema).cloned();
        let validator = known.unwrap_or_else(|| {
            let made = Arc::new(self.validator(&local(schema)));
            self.validators.lock().expect("a lock").insert(schema.clone(), Arc::clone(&made));
            made
        });
        validator.iter_errors(value).map(|fault| format!("{}: {fault}", fault.instance_path())).collect()
    }

    fn validator(&self, schema: &Value) -> Validator {
        let is_email =
            |text: &str| text.split_once('@').is_some_and(|(who, host)| !who.is_empty() && !host.is_empty());
        let is_id = |text: &str| uuid::Uuid::try_parse(text).is_ok_and(|id| id.to_string() == text);
        let schema = json!({"$defs": self.definitions, "allOf": [schema]});
        jsonschema::options()
            .should_validate_formats(true)
            .should_ignore_unknown_formats(false)
            .with_format("uuid", is_id)
            .with_format("date-time", self.is_instant)
            .with_format("email", is_email)
            .with_format("uri", |text: &str| text.starts_with("http://") || text.starts_with("https://"))
            .build(&schema)
            .unwrap_or_else(|fault| panic!("{fault} in {schema}"))
    }

    /// Fails unless `value` is a valid `name`.
    #[track_caller]
    pub fn assert(&self, name: &str, value: &Value) {
        let faults = self.faults(name, value);
        assert!(faults.is_empty(), "{faults:#?}\nin {value:#}");
    }
}

/// The shapes of the contract with the gateway's additional codes.
fn contract() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/contract/resources.json");
    let text = std::fs::read_to_string(path).expect("the contract");
    let mut definitions = serde_json::from_str::<Value>(&text).expect("the contract is JSON")["$defs"].take();
    let codes = definitions["Problem"]["properties"]["code"]["enum"].as_array_mut().expect("codes");
    codes.extend(ADDED_CODES.iter().map(|&code| Value::from(code)));
    definitions
}

/// A part of a document whose references lead to the definitions beside it.
fn local(part: &Value) -> Value {
    serde_json::from_str(&part.to_string().replace("#/components/schemas/", "#/$defs/")).expect("JSON")
}

/// Checks the form of all instants that the gateway sends: UTC with six digits, for every caller (trap 42).
fn is_sent_instant(text: &str) -> bool {
    text.len() == 27 && is_instant(text)
}

/// UTC with `Z`, with six fraction digits or none, as the contract's examples are.
fn is_instant(text: &str) -> bool {
    let form = text.ends_with('Z') && (text.len() == 20 || text.len() == 27 && text.as_bytes()[19] == b'.');
    form && text.parse::<jiff::Timestamp>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_contract_are_valid_and_what_is_wrong_with_them_is_seen() {
        let shapes = Shapes::new(contract(), is_instant);
        let mut seen = 0;
        for (name, schema) in shapes.definitions.as_object().expect("shapes") {
            for example in schema["examples"].as_array().into_iter().flatten() {
                assert_eq!(shapes.faults(name, example), Vec::<String>::new(), "{name}");
                let mut with_more = example.clone();
                if let (true, Some(members)) = (schema["additionalProperties"] == false, with_more.as_object_mut())
                {
                    members.insert("surplus".into(), 1.into());
                    assert!(!shapes.faults(name, &with_more).is_empty(), "{name} takes a surplus member");
                }
                for required in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                    let mut with_less = example.clone();
                    with_less.as_object_mut().expect("an object").remove(required);
                    assert!(!shapes.faults(name, &with_less).is_empty(), "{name} does not need {required}");
                }
                seen += 1;
            }
        }
        assert!(seen > 20, "only {seen} examples");
    }

    #[test]
    fn formats_are_judged_as_the_gateway_writes_them() {
        let good = json!({"id": "00000000-0000-4000-a000-000000000001", "email": "a@b", "display_name": "ada",
            "principal_kind": "api_key", "scopes": []});
        SENT.assert("CurrentUser", &good);
        let in_capitals = json!("00000000-0000-4000-A000-000000000001");
        for (name, wrong) in [("id", in_capitals), ("email", json!("ada")), ("scopes", json!([1]))] {
            let mut bad = good.clone();
            bad[name] = wrong;
            assert_eq!(SENT.faults("CurrentUser", &bad).len(), 1, "{name}");
        }
        assert!(is_sent_instant("2026-11-21T10:36:12.630235Z") && is_instant("2026-11-21T10:36:12Z"));
        for wrong in ["2026-11-21T10:36:12Z", "2026-11-21T10:36:12.63023+00", "2026-11-21T10:36:12.630235+"] {
            assert!(!is_sent_instant(wrong), "{wrong}");
        }
    }
}

//! The content of a refusal's body: its text, and the fields it is about, in v2 names.
//!
//! May use: `plan`, `refusal`.

use crate::plan::Resource;
use crate::refusal::{FieldError, Refusal};
use serde_json::{Map, Value};

pub(super) fn validation(resource: &Resource, body: &Value) -> Refusal {
    let Some(members) = body.as_object() else {
        return Refusal::invalid("v1 refused the write.");
    };
    if let Some(told) = sentence(members) {
        return Refusal::invalid(told.to_owned());
    }
    let errors = field_errors(resource, members);
    match (errors.is_empty(), text(body)) {
        (true, Some(told)) => Refusal::invalid(told.to_owned()),
        (true, None) => Refusal::invalid("v1 refused the write."),
        (false, _) => Refusal::fields(errors),
    }
}

/// Reads `{"field": ["message", …]}` and `{"field": {"0": ["message"]}}`, with v2 names.
fn field_errors(resource: &Resource, members: &Map<String, Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, told) in members.iter().filter(|(key, _)| *key != "non_field_errors") {
        let name = v2_name(resource, key);
        match told {
            Value::Array(messages) => errors.extend(entries(name, messages)),
            Value::Object(elements) => {
                for (index, messages) in elements {
                    let nested = format!("{name}.{index}");
                    errors.extend(messages.as_array().into_iter().flat_map(|messages| entries(&nested, messages)));
                }
            }
            _ => {}
        }
    }
    errors
}

fn entries(field: &str, messages: &[Value]) -> Vec<FieldError> {
    messages.iter().filter_map(Value::as_str).map(|message| FieldError::new(field, message)).collect()
}

pub(super) fn v2_name<'a>(resource: &'a Resource, key: &'a str) -> &'a str {
    resource.field_of_v1(key).map_or(key, |field| &field.name)
}

/// Returns the one sentence of a v1 refusal, in whichever member it is.
pub(super) fn text(body: &Value) -> Option<&str> {
    let members = body.as_object()?;
    sentence(members).or_else(|| members.get("non_field_errors")?.get(0)?.as_str())
}

/// Returns the sentence of a refusal that names no fields.
fn sentence(members: &Map<String, Value>) -> Option<&str> {
    ["error", "detail", "message"].iter().find_map(|key| members.get(*key)?.as_str())
}

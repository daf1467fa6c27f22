//! The value of one member of a body. May use: `plan`, `refusal`, `v2`.

use super::super::{time, value};
use crate::plan::{Input, ValueType};
use crate::refusal::{FieldError, FieldErrors};
use serde_json::Value;

pub(super) fn check_member(input: &Input, value: &Value) -> Result<Value, FieldErrors> {
    let refuse = |message: String| FieldErrors::from(vec![FieldError::new(&input.name, message)]);
    if value.is_null() {
        let null = input.spec.nullable.then_some(Value::Null);
        return null.ok_or_else(|| refuse("must not be null".into()));
    }
    match input.value {
        ValueType::One(kind) | ValueType::Csv(kind) => {
            let value = value::read_json(kind, value).map_err(refuse)?;
            check_text(input, value).map_err(refuse)
        }
        ValueType::Array(kind) => check_array(input, kind, value),
    }
}

fn check_array(input: &Input, kind: Option<crate::plan::Kind>, value: &Value) -> Result<Value, FieldErrors> {
    let Some(elements) = value.as_array() else {
        return Err(vec![FieldError::new(&input.name, "must be an array")].into());
    };
    let Some(kind) = kind else { return Ok(value.clone()) };
    let mut checked = Vec::with_capacity(elements.len());
    let mut errors = FieldErrors::default();
    for (index, element) in elements.iter().enumerate() {
        match value::read_json(kind, element) {
            Ok(element) => checked.push(element),
            Err(message) => errors.add(format!("{}.{index}", input.name), message),
        }
    }
    if errors.is_empty() { Ok(Value::Array(checked)) } else { Err(errors) }
}

fn check_text(input: &Input, value: Value) -> Result<Value, String> {
    let Value::String(text) = value else { return Ok(value) };
    let text = if input.trim || input.spec.trim_ends { value::trimmed(&text).to_owned() } else { text };
    if input.trim && text.is_empty() {
        return Err("must not be blank".into());
    }
    if input.spec.max_length.is_some_and(|max| text.chars().count() > max) {
        return Err(format!("must not be longer than {} characters", input.spec.max_length.unwrap_or_default()));
    }
    if !input.spec.allowed.is_empty() && !input.spec.allowed.contains(&text) {
        return Err(value::not_one_of(&text, &input.spec.allowed));
    }
    if input.spec.zone && !time::is_zone(&text) {
        return Err("is not a name of the IANA time zone database".into());
    }
    if let Some(fault) = input.fault_of_v1(&text) {
        return Err(fault);
    }
    Ok(Value::String(text))
}

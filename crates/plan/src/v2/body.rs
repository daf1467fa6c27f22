//! A write's JSON body against what the operation declares.
//!
//! The whole payload is validated before anything is looked up; one answer carries every fault (O29).
//! Unknown and read-only members change nothing (O6).
//!
//! May use: `plan`, `refusal`.

use super::{time, value};
use crate::plan::{BodyRule, Input, Operation, ValueType};
use crate::refusal::{FieldError, FieldErrors, Refusal};
use serde_json::{Map, Value};

/// Most entries of one array, and members of one object, anywhere in a body.
pub const MOST_ENTRIES: usize = 1000;

/// Members of a body that passed, by v2 name, in canonical form.
pub type Given = Map<String, Value>;

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
    match serde_json::from_slice::<Value>(bytes) {
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

/// Checks a parsed body against the operation's members; defaults of absent members are filled in.
///
/// # Errors
/// `validation_error` with every faulty member.
pub fn check(operation: &Operation, members: &Map<String, Value>) -> Result<Given, Refusal> {
    check_with(operation, members, |_| FieldErrors::default())
}

/// [`check`], where a refusal also tells what `more` finds wrong inside the members that passed. The caller judges them
/// again with what else there is to say about them; a body refused here gets no further.
///
/// # Errors
/// As [`check`].
pub fn check_with(
    operation: &Operation,
    members: &Map<String, Value>,
    more: impl FnOnce(&Given) -> FieldErrors,
) -> Result<Given, Refusal> {
    let BodyRule::Members(inputs) = &operation.body else { return Ok(Given::new()) };
    let mut given = Given::new();
    let mut errors = FieldErrors::default();
    for input in inputs {
        match members.get(&input.name) {
            Some(value) => match check_member(input, value) {
                Ok(value) => {
                    given.insert(input.name.clone(), value);
                }
                Err(faults) => errors.append(faults),
            },
            None if input.required => errors.add(&input.name, "is required"),
            None => {
                if let Some(default) = &input.default {
                    given.insert(input.name.clone(), default.clone());
                }
            }
        }
    }
    if errors.is_empty() {
        return Ok(given);
    }
    errors.append(more(&given));
    Err(Refusal::fields(errors))
}

/// Members of a parsed body that change nothing: those the operation does not know, and those that cannot be written.
pub fn ignored(operation: &Operation, members: &Map<String, Value>) -> Vec<String> {
    let BodyRule::Members(inputs) = &operation.body else { return Vec::new() };
    let taken = |name: &&String| inputs.iter().any(|input| input.name == **name);
    members.keys().filter(|name| !taken(name)).cloned().collect()
}

fn check_member(input: &Input, value: &Value) -> Result<Value, FieldErrors> {
    let refuse = |message: String| FieldErrors::from(vec![FieldError::new(&input.name, message)]);
    if value.is_null() {
        let null = input.nullable.then_some(Value::Null);
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
    let text = if input.trim || input.trim_ends { value::trimmed(&text).to_owned() } else { text };
    if input.trim && text.is_empty() {
        return Err("must not be blank".into());
    }
    if input.max_length.is_some_and(|max| text.chars().count() > max) {
        return Err(format!("must not be longer than {} characters", input.max_length.unwrap_or_default()));
    }
    if !input.allowed.is_empty() && !input.allowed.contains(&text) {
        return Err(value::not_one_of(&text, &input.allowed));
    }
    if input.zone && !time::is_zone(&text) {
        return Err("is not a name of the IANA time zone database".into());
    }
    if let Some(fault) = input.fault_of_v1(&text) {
        return Err(fault);
    }
    Ok(Value::String(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_or_object_holds_a_thousand_entries_at_most() {
        let array = |count: usize| format!("{{\"a\":{{\"b\":[{}1]}}}}", "1,".repeat(count - 1));
        assert!(parse(None, array(MOST_ENTRIES).as_bytes()).is_ok());
        let Err(Refusal::Validation { errors, .. }) = parse(None, array(MOST_ENTRIES + 1).as_bytes()) else {
            panic!("taken")
        };
        assert_eq!(errors[0].field, "a");
        let members: Vec<String> = (0..=MOST_ENTRIES).map(|n| format!("\"{n}\":1")).collect();
        assert!(parse(None, format!("{{\"a\":{{{}}}}}", members.join(",")).as_bytes()).is_err());
    }

    #[test]
    fn bodies_that_are_not_json_objects_are_refused() {
        let json = Some("application/json; charset=utf-8");
        assert!(parse(json, b"{\"a\": 1}").is_ok());
        assert!(parse(None, b"").unwrap().is_empty());
        for (media, body) in [
            (json, &b"[]"[..]),
            (json, b"null"),
            (json, b"{"),
            (None, b" \n"),
            (json, b"{\"n\": 1e999}"),
            (json, b"{\"s\": \"\\ud800\"}"),
            (json, b"\xff"),
            (Some("text/plain"), b"{}"),
            (Some("application/merge-patch+json"), b"{}"),
        ] {
            assert_eq!(parse(media, body).unwrap_err().status(), 400);
        }
    }
}

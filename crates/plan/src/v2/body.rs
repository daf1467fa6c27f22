//! Validation of a write's JSON body against the members that the operation declares.
//!
//! The whole payload is validated before anything is looked up; one answer carries every fault (O29).
//! Unknown and read-only members have no effect (O6).
//!
//! May use: `plan`, `refusal`.

mod json;
mod member;

pub use json::{MOST_ENTRIES, MOST_LEVELS, parse};

use member::check_member;

use crate::plan::{BodyRule, Operation};
use crate::refusal::{FieldErrors, Refusal};
use serde_json::{Map, Value};

/// Members of a valid body, by v2 name, in canonical form.
pub type Given = Map<String, Value>;

/// Checks a parsed body against the operation's members. Absent members get their defaults.
///
/// # Errors
/// `validation_error` with every faulty member.
pub fn check(operation: &Operation, members: &Map<String, Value>) -> Result<Given, Refusal> {
    check_with(operation, members, |_| FieldErrors::default())
}

/// Like [`check`], but a refusal also reports the faults that `more` finds inside the members that passed. An accepted
/// body is checked for these faults by the caller, together with its other checks; a refused body gets no further.
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
            None if input.spec.required => errors.add(&input.name, "is required"),
            None => {
                if let Some(default) = &input.spec.default {
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

/// Returns the members of a parsed body that have no effect: those unknown to the operation, and those not writable.
pub fn ignored(operation: &Operation, members: &Map<String, Value>) -> Vec<String> {
    let BodyRule::Members(inputs) = &operation.body else { return Vec::new() };
    let taken = |name: &&String| inputs.iter().any(|input| input.name == **name);
    members.keys().filter(|name| !taken(name)).cloned().collect()
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

    /// A record with this body is read again inside a list of records, which nests deeper.
    #[test]
    fn a_body_has_a_hundred_levels_at_most() {
        let nested = |levels: usize| format!("{{\"a\":{}{}}}", "[".repeat(levels - 1), "]".repeat(levels - 1));
        let members = parse(None, nested(MOST_LEVELS).as_bytes()).expect("as deep as may be");
        let list = serde_json::json!({"data": [{"settings": members}]}).to_string();
        assert!(serde_json::from_str::<Value>(&list).is_ok());
        for levels in [MOST_LEVELS + 1, 127, 128] {
            assert_eq!(
                parse(None, nested(levels).as_bytes()).map_err(|refused| refused.status()),
                Err(400),
                "{levels}"
            );
        }
    }

    /// If such a member were read as raw JSON, its text could nest deeper than anything the store can read back.
    #[test]
    fn no_text_in_a_body_is_taken_for_json() {
        for name in ["$serde_json::private::RawValue", "\\u0024serde_json::private::RawValue"] {
            for body in [
                format!("{{\"{name}\":\"{{}}\"}}"),
                format!("{{\"name\":{{\"{name}\":\"\\\"x\\\"\"}}}}"),
                format!("{{\"logo_props\":{{\"a\":[1,{{\"{name}\":\"[[1]]\"}}]}}}}"),
                format!("{{\"logo_props\":{{\"a\":1,\"{name}\":2}}}}"),
            ] {
                assert_eq!(parse(None, body.as_bytes()).map_err(|refused| refused.status()), Err(400), "{body}");
            }
        }
        let text = br#"{"a":"$serde_json::private::RawValue","serde_json":[null,true,-1,1,0.5,"x",{"b":{}}]}"#;
        let read = Value::Object(parse(None, text).unwrap());
        assert_eq!(read.to_string().as_bytes(), text);
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

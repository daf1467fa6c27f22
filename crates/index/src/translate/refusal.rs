//! v1's refusals of writes, in v2 words and v2 field names.
//!
//! v1 refuses in more than ten shapes (`fixtures/v1/errors.json`). The shapes that all resources share are read here;
//! the others are declared in the mapping (`[[v1.refusals]]`).
//!
//! May use: `plan`, `v1` messages, `refusal`.

use crate::plan::{Resource, V1Refusal, WriteKind};
use crate::refusal::{FieldError, Refusal};
use crate::v1::V1Response;
use serde_json::{Map, Value};

/// What a refused write means. `response` is a 4xx that is neither about the key nor the quota; those are
/// told apart before.
pub fn of_write(resource: &Resource, on: WriteKind, response: &V1Response) -> Refusal {
    let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    if let Some(refusal) = declared(resource, on, response.status, &body) {
        return refusal;
    }
    if let Some(refusal) = by_own_workflow(response.status, &body) {
        return refusal;
    }
    match response.status {
        400 => validation(resource, &body),
        403 => forbidden(&body),
        404 => Refusal::not_found(),
        409 => Refusal::Conflict { detail: text(&body).unwrap_or("v1 reports a conflict.").to_owned() },
        status => Refusal::upstream("v1 refused the write in an unknown way.", format!("status {status}")),
    }
}

fn declared(resource: &Resource, on: WriteKind, status: u16, body: &Value) -> Option<Refusal> {
    let refusals = &resource.v1.as_ref()?.refusals;
    let refusal = refusals.iter().find(|r| r.on == on && r.status == status && fits(r, body))?;
    if let Some(key) = &refusal.field {
        return Some(Refusal::field(v2_name(resource, key), refusal.detail.clone()));
    }
    Some(match refusal.code.as_str() {
        "conflict" => Refusal::Conflict { detail: refusal.detail.clone() },
        "forbidden" => Refusal::Forbidden { detail: refusal.detail.clone() },
        "resource_not_found" => Refusal::NotFound { detail: refusal.detail.clone() },
        _ => Refusal::invalid(refusal.detail.clone()),
    })
}

fn fits(refusal: &V1Refusal, body: &Value) -> bool {
    let told = match &refusal.field {
        Some(key) => body.get(key).and_then(|told| told.get(0)).and_then(Value::as_str),
        None => text(body),
    };
    match &refusal.error {
        Some(wanted) => told == Some(wanted),
        None => refusal.field.is_none() || told.is_some(),
    }
}

/// The one sentence of a v1 refusal, wherever it stands.
fn text(body: &Value) -> Option<&str> {
    let members = body.as_object()?;
    let plain = ["error", "detail", "message"].iter().find_map(|key| members.get(*key)?.as_str());
    plain.or_else(|| members.get("non_field_errors")?.get(0)?.as_str())
}

/// A v1 with workflow rules of its own says so in its sentence; the recorded one has none.
fn by_own_workflow(status: u16, body: &Value) -> Option<Refusal> {
    let told = text(body).filter(|_| matches!(status, 400 | 403))?;
    let words = told.to_lowercase();
    let about_moves = words.contains("workflow") || words.contains("state transition");
    about_moves.then(|| Refusal::WorkflowDenied { detail: told.to_owned() })
}

/// The caller may see the project (its card says so), so a 403 is about the role.
fn forbidden(body: &Value) -> Refusal {
    let detail = match text(body) {
        Some(told) if told.starts_with("Only admin or creator") => told.to_owned() + ".",
        _ => "The role of this credential may not do this.".to_owned(),
    };
    Refusal::Forbidden { detail }
}

fn validation(resource: &Resource, body: &Value) -> Refusal {
    let Some(members) = body.as_object() else {
        return Refusal::invalid("v1 refused the write.");
    };
    if let Some(told) = ["error", "detail", "message"].iter().find_map(|key| members.get(*key)?.as_str()) {
        return Refusal::invalid(told.to_owned());
    }
    let errors = field_errors(resource, members);
    match (errors.is_empty(), text(body)) {
        (true, Some(told)) => Refusal::invalid(told.to_owned()),
        (true, None) => Refusal::invalid("v1 refused the write."),
        (false, _) => Refusal::fields(errors),
    }
}

/// `{"field": ["message", …]}` and `{"field": {"0": ["message"]}}`, renamed.
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

fn v2_name<'a>(resource: &'a Resource, key: &'a str) -> &'a str {
    resource.fields.iter().find(|field| field.v1.as_deref() == Some(key)).map_or(key, |field| &field.name)
}

/// Whether a 400 is about one field and nothing else, by its v1 name.
pub fn is_only_about(response: &V1Response, key: &str) -> bool {
    let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    response.status == 400
        && body.as_object().is_some_and(|members| members.len() == 1 && members.contains_key(key))
}

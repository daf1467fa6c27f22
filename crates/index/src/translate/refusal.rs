//! v1's refusals of writes, translated to v2 words and v2 field names.
//!
//! v1's refusals have more than ten shapes (`fixtures/v1/errors.json`). The shapes that all resources share are read
//! here; the others are declared in the mapping (`[[v1.refusals]]`).
//!
//! May use: `plan`, `v1` messages, `refusal`.

use super::refused_fields::{text, v2_name, validation};
use crate::plan::{CollectionRule, Resource, V1Refusal, WriteKind};
use crate::refusal::Refusal;
use crate::v1::V1Response;
use serde_json::Value;

/// Translates the answer to a refused write. `response` is a 4xx that is neither about the key nor about the quota;
/// those two cases are handled before.
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

/// Returns the refusal of the delete of a record that has the flag of `rule`: in the words for v1's own refusal, if the
/// mapping marks one.
pub fn of_flagged(resource: &Resource, rule: &CollectionRule) -> Refusal {
    let refusals = resource.v1.iter().flat_map(|v1| &v1.refusals);
    let own = refusals.into_iter().find(|refusal| refusal.on == WriteKind::Delete && refusal.exclusive);
    Refusal::Conflict { detail: own.map_or(&rule.detail, |own| &own.detail).clone() }
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

/// Recognises a v1 with workflow rules of its own by its sentence. The recorded v1 has no such rules.
fn by_own_workflow(status: u16, body: &Value) -> Option<Refusal> {
    let told = text(body).filter(|_| matches!(status, 400 | 403))?;
    let words = told.to_lowercase();
    let about_moves = words.contains("workflow") || words.contains("state transition");
    about_moves.then(|| Refusal::WorkflowDenied { detail: told.to_owned() })
}

/// Translates a 403. It is about the role, because the project card proves that the caller may see the project.
fn forbidden(body: &Value) -> Refusal {
    let detail = match text(body) {
        Some(told) if told.starts_with("Only admin or creator") => told.to_owned() + ".",
        _ => "The role of this credential may not do this.".to_owned(),
    };
    Refusal::Forbidden { detail }
}

/// Checks whether a 400 is only about the field with this v1 name.
pub fn is_only_about(response: &V1Response, key: &str) -> bool {
    let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    response.status == 400
        && body.as_object().is_some_and(|members| members.len() == 1 && members.contains_key(key))
}

//! Doors: refusals that every operation has, and refusals of writes when nothing may be written. May use: `outgoing`,
//! `plan`, this folder.

use super::client::Gateway;
use super::place::{self, Place};
use super::proof::{MAY_NOT, OTHER_MODE};
use super::report::{Checked, Finding};
use super::{bodies, shape};
use crate::outgoing::Answer;
use crate::plan::{BodyRule, Method, Operation, Plan};
use serde_json::json;

/// Codes of a write that needs the other mode of work item types.
const MODE_CODES: [&str; 2] = ["work_item_types_managed_at_project", "work_item_types_managed_at_workspace"];

/// Checks two refusals: 401 without a key, and 405 for a method that no operation has, with the operation's in `Allow`.
pub(super) async fn check(gateway: &Gateway, place: &Place, operation: &Operation) -> Checked {
    let path = place.path_to_nothing(operation)?;
    let body = (operation.method != Method::Get).then(|| json!({}));
    let bare = gateway.bare().send_patiently(operation.method.as_str(), &path, body.as_ref()).await?;
    is_problem(&bare, 401, "unauthorized", "without a key")?;
    if bare.header("WWW-Authenticate").is_none() {
        return Err("without a key: the answer has no WWW-Authenticate".to_owned().into());
    }
    let wrong = gateway.send_patiently("PUT", &path, Some(&json!({}))).await?;
    is_problem(&wrong, 405, "method_not_allowed", "PUT")?;
    let allow = wrong.header("Allow").unwrap_or_default();
    if !allow.split(',').any(|word| word.trim() == operation.method.as_str()) {
        return Err(format!("PUT: `Allow: {allow}` does not name {}", operation.method).into());
    }
    Ok("401 without a key, 405 for PUT".into())
}

/// Checks a write that cannot change anything: one of a missing record, or one with a wrong body.
pub(super) async fn refuses_harmlessly(gateway: &Gateway, place: &Place, operation: &Operation) -> Checked {
    let at_nothing = place::names_a_record(operation);
    let body = match &operation.body {
        BodyRule::Members(members) => bodies::wrong(members),
        BodyRule::None | BodyRule::Ignored if at_nothing => None,
        BodyRule::None | BodyRule::Ignored => return Ok("not sent, for it would change something".into()),
    };
    if body.is_none() && !at_nothing {
        return Err(Finding::Impossible("no body of it is surely wrong".into()));
    }
    // Depending on the operation, the missing record is reported before or after the body is checked.
    let path = place.path_to_nothing(operation)?;
    let answer = gateway.send_patiently(operation.method.as_str(), &path, body.as_ref()).await?;
    match (answer.status, answer.code()) {
        (400, "validation_error") if body.is_some() => Ok("400 for a wrong body".into()),
        (404, "resource_not_found") if at_nothing => Ok("404 for a random id".into()),
        (409, code) if operation.mode.is_some() && MODE_CODES.contains(&code) => {
            Ok("409 in this mode of the workspace".into())
        }
        (403, "forbidden") => Ok("403: this key may not write here".into()),
        _ => Err(format!("a write that must be refused was answered {}", answer.brief()).into()),
    }
}

/// Checks that an answer is a problem with this status and code.
pub(super) fn is_problem(answer: &Answer, status: u16, code: &str, when: &str) -> Result<(), Finding> {
    if (answer.status, answer.code()) != (status, code) {
        return Err(format!("{when}: {} instead of {status} {code}", answer.brief()).into());
    }
    let media = answer.header("Content-Type").unwrap_or_default();
    if !media.starts_with("application/problem+json") {
        return Err(format!("{when}: the problem has Content-Type `{media}`").into());
    }
    Ok(())
}

/// Checks that an answer is a success with this status. An operation that the key may not use cannot be verified.
pub(super) fn is_success(answer: &Answer, operation: &Operation) -> Result<(), Finding> {
    match (answer.status, answer.code()) {
        (status, _) if status == operation.status => Ok(()),
        (403, "forbidden") => Err(Finding::Impossible(format!("{MAY_NOT}: {}", answer.brief()))),
        (409, code) if operation.mode.is_some() && MODE_CODES.contains(&code) => {
            Err(Finding::Impossible(format!("{OTHER_MODE}: {}", answer.brief())))
        }
        _ => Err(format!("{} instead of {}", answer.brief(), operation.status).into()),
    }
}

/// Checks the body of a success against the declared shape.
pub(super) fn has_shape(plan: &Plan, operation: &Operation, answer: &Answer) -> Result<(), String> {
    match &operation.response {
        Some(name) => shape::check(plan, name, &answer.json),
        None => Ok(()),
    }
}

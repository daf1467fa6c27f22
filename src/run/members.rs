//! What v1 answers with, and what it means: members of records, its clock, refused lists, data that fit nothing. May use:
//! what `run` may use.

use crate::refusal::Refusal;
use crate::translate::{Fault, members_once};
use crate::v1::{NotDone, V1Response};
use crate::v2::time::Micros;
use serde_json::{Map, Value};
use uuid::Uuid;

/// How far v1's clock, or another process's, may be behind or ahead of ours.
pub(super) const SKEW: Micros = 5_000_000;

pub(super) type Members = Map<String, Value>;

/// Id in the answer of a create.
pub(super) fn id_of(v1: &Members) -> Result<Uuid, Refusal> {
    let id = v1.get("id").and_then(Value::as_str).and_then(|text| Uuid::try_parse(text).ok());
    id.ok_or_else(|| bad_data(&Fault("a created record has no id".into())))
}

pub(super) fn members(answer: &V1Response) -> Result<Members, Refusal> {
    members_once(&answer.body).map_err(|fault| bad_data(&fault))
}

/// Members that were looked up, as the answer that should have been v1's.
pub(super) fn answer_of(status: u16, members: &Members) -> V1Response {
    V1Response { status, body: json(members).into(), is_json: true, retry_after: None }
}

pub(super) fn json(members: &Members) -> Vec<u8> {
    serde_json::to_vec(members).unwrap_or_default()
}

/// A page of a list that v1 refused: the card said the project is visible, so it no longer is, or v1 keeps the list
/// from members. A new card tells (trap 2).
pub(super) fn refused_read(failure: NotDone) -> Refusal {
    match failure {
        NotDone::Answered(V1Response { status: 403, .. }) => refused_list(),
        NotDone::Answered(V1Response { status: 404, .. }) => Refusal::not_found(),
        other => other.into(),
    }
}

/// v1 does not show a list to somebody who is in the project.
pub(super) fn refused_list() -> Refusal {
    Refusal::Forbidden { detail: "The service behind does not show this list to you.".into() }
}

pub(super) fn bad_data(fault: &Fault) -> Refusal {
    Refusal::upstream("The service behind answered with data that does not fit its own interface.", fault)
}

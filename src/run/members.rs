//! Reading v1's answers: members of records, skew of clocks, refused lists, records that are missing, data that do
//! not fit. May use: what `run` may use.

use crate::refusal::Refusal;
use crate::translate::{Fault, members_once};
use crate::v1::{NotDone, V1Response};
use crate::v2::time::{self, Micros};
use serde_json::{Map, Value};
use uuid::Uuid;

/// Most that v1's clock, or another process's clock, may differ from ours.
pub(super) const SKEW: Micros = 5_000_000;

pub(super) type Members = Map<String, Value>;

/// Returns the id in the answer of a create.
pub(super) fn id_of(v1: &Members) -> Result<Uuid, Refusal> {
    v1.get("id").and_then(as_id).ok_or_else(|| bad_data(&Fault("a created record has no id".into())))
}

pub(super) fn as_id(value: &Value) -> Option<Uuid> {
    value.as_str().and_then(|id| Uuid::try_parse(id).ok())
}

/// Returns the ids in an array.
pub(super) fn ids(value: &Value) -> Vec<Uuid> {
    value.as_array().into_iter().flatten().filter_map(as_id).collect()
}

/// Returns the time in the member `created_at` of a record.
pub(super) fn created_at(record: &Members) -> Option<Micros> {
    record.get("created_at").and_then(Value::as_str).and_then(time::read_instant)
}

pub(super) fn members(answer: &V1Response) -> Result<Members, Refusal> {
    members_once(&answer.body).map_err(|fault| bad_data(&fault))
}

/// Builds the answer that v1 should have given, from members that were looked up.
pub(super) fn answer_of(status: u16, members: &Members) -> V1Response {
    V1Response { status, body: json(members).into(), is_json: true, retry_after: None }
}

pub(super) fn json(members: &Members) -> Vec<u8> {
    serde_json::to_vec(members).unwrap_or_default()
}

/// Converts v1's refusal of a page. The card said the project is visible; now it is not, or v1 refuses this list to
/// members. A new card decides (trap 2).
pub(super) fn refused_read(failure: NotDone) -> Refusal {
    match failure {
        NotDone::Answered(V1Response { status: 403, .. }) => refused_list(),
        NotDone::Answered(V1Response { status: 404, .. }) => Refusal::not_found(),
        other => other.into(),
    }
}

/// Returns the refusal for a list that v1 does not show to a member of the project.
pub(super) fn refused_list() -> Refusal {
    Refusal::Forbidden { detail: "The service behind does not show this list to you.".into() }
}

/// Returns the result of a read; none instead of a 404.
pub(super) fn unless_missing<T>(read: Result<T, Refusal>) -> Result<Option<T>, Refusal> {
    match read {
        Ok(found) => Ok(Some(found)),
        Err(Refusal::NotFound { .. }) => Ok(None),
        Err(other) => Err(other),
    }
}

pub(super) fn bad_data(fault: &Fault) -> Refusal {
    Refusal::upstream("The service behind answered with data that does not fit its own interface.", fault)
}

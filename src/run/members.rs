//! The members of records as v1 shows them and is sent them. May use: what `run` may use.

use super::v1_faults::bad_data;
use crate::refusal::Refusal;
use crate::translate::{Fault, members_once};
use crate::v1::V1Response;
use serde_json::{Map, Value};
use uuid::Uuid;

/// Members of a JSON object.
pub(super) type Members = Map<String, Value>;

/// Id in the answer of a create.
pub(super) fn id_of(v1: &Members) -> Result<Uuid, Refusal> {
    let id = v1.get("id").and_then(Value::as_str).and_then(|text| Uuid::try_parse(text).ok());
    id.ok_or_else(|| bad_data(&Fault("a created record has no id".into())))
}

/// Members of a success.
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

//! Moves the default flag of states, which v1 handles badly (trap 23): `true` in a create clears it everywhere
//! even if the create is refused, `true` in an update clears nothing. The order here is: set the new one,
//! clear every other, so that there is never none.

use crate::plan::Resource;
use crate::refusal::Refusal;
use crate::run::{Collection, Job};
use crate::translate::{Held, states};
use serde_json::{Map, Value};
use uuid::Uuid;

/// The `default` flag as a v1 body.
pub(super) fn flag(value: bool) -> Map<String, Value> {
    Map::from_iter([("default".to_owned(), Value::Bool(value))])
}

/// Ids of the other states that carry the flag (`states_list_two_defaults`).
pub(super) fn others(all: &Collection, new: Uuid) -> Vec<Uuid> {
    let flagged = all.rows().iter().filter(|held| states::is_default(&held.v1_members()));
    flagged.map(|held| held.record.id).filter(|id| *id != new).collect()
}

/// Clears the flag on `ids`; the states afterwards.
pub(super) async fn clear(job: &Job, resource: &Resource, ids: &[Uuid]) -> Result<Vec<Held>, Refusal> {
    let mut cleared = Vec::with_capacity(ids.len());
    for id in ids {
        let answer = job.patch(resource, *id, &flag(false)).await?;
        cleared.push(job.held(resource, &answer).await?);
    }
    Ok(cleared)
}

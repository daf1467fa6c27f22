//! Creates a state.
//!
//! `default` is never part of the create (trap 23, `states_list_defaults_after_failed_create`); `sequence` is
//! ignored there and follows in a PATCH (trap 22, `states_create_full`).

use super::state_default;
use crate::refusal::Refusal;
use crate::run::members::id_of;
use crate::run::write::created_but;
use crate::run::{Job, create, update};
use crate::translate::{intent, outgoing, states};
use crate::v2::Reply;
use serde_json::Value;

/// Calls of a create that moves the default: the create, the flag set, the list, the flag cleared. Where v1 holds
/// two defaults (trap 23) it is cleared twice.
const CALLS: usize = 5;

pub(super) async fn run(job: &Job) -> Result<Reply, Refusal> {
    let mut given = job.given()?;
    states::check_known_gaps(&given)?;
    let becomes_default = given.shift_remove("is_default") == Some(Value::Bool(true));
    let resource = job.resource();
    let mut write = job.begin_write().await?;
    if !becomes_default {
        return create::create_given(job, write, given).await;
    }
    let outgoing = outgoing::create(resource, &given);
    let _room = job.room_for(CALLS).await?;
    let id = id_of(&job.post(resource, &outgoing.body).await?)?;
    let failed = created_but(id);
    let mut promotion = outgoing.after_create;
    promotion.extend(state_default::flag(true));
    job.patch(resource, id, &promotion).await.map_err(&failed)?;
    // The list now shows every state that still carries the flag, whoever set it.
    update::refresh(job, &mut write, id).await.map_err(&failed)?;
    let all = write.before().ok_or_else(|| Refusal::internal("no list in hand"))?;
    let others = state_default::others(&all.thing, id);
    let cleared = state_default::clear(job, resource, &others).await.map_err(&failed)?;
    let state = all.thing.get(id).ok_or_else(Refusal::not_found)?;
    intent::compare(resource, &outgoing.body, &state.v1_members()).confirm(resource).map_err(&failed)?;
    let reply = job.record_reply(state.record.json.clone());
    write.finish(|before| before.with(&cleared));
    Ok(reply)
}

//! Updates a state; making it the default takes the flag from the others (trap 23).

use super::state_default;
use crate::refusal::Refusal;
use crate::run::write::partly_done;
use crate::run::{Job, update};
use crate::translate::{outgoing, states};
use crate::v2::Reply;
use serde_json::Value;

pub(super) async fn run(job: &Job) -> Result<Reply, Refusal> {
    let (mut write, mut stored) = update::begin(job).await?;
    let mut given = job.given()?;
    states::check_known_gaps(&given)?;
    let flag = given.shift_remove("is_default").and_then(|value| value.as_bool());
    if flag.is_some() {
        // Which states carry the flag must be known as of now.
        stored = update::refresh(job, &mut write, stored.record.id).await?;
    }
    let is_default = states::is_default(&stored.v1_members());
    match flag {
        Some(false) if is_default => Err(Refusal::field(
            "is_default",
            "a project always has a default state; make another state the default",
        )),
        Some(true) if !is_default || others_have_it(&write, stored.record.id) => {
            promote(job, write, &stored, given).await
        }
        _ => update::update_given(job, write, &stored, &given).await,
    }
}

/// v1 can hold two defaults (trap 23, `states_list_two_defaults`); asking for one of them leaves it alone.
fn others_have_it(write: &crate::run::shelf::Write<'_, crate::run::Collection>, id: uuid::Uuid) -> bool {
    write.before().is_some_and(|all| !state_default::others(&all.thing, id).is_empty())
}

async fn promote(
    job: &Job,
    mut write: crate::run::shelf::Write<'_, crate::run::Collection>,
    stored: &crate::translate::Held,
    given: crate::v2::body::Given,
) -> Result<Reply, Refusal> {
    let (resource, id) = (job.resource(), stored.record.id);
    let before = write.before().ok_or_else(|| Refusal::internal("no list in hand"))?;
    let mut body = outgoing::update(resource, &given).body;
    body.insert("default".to_owned(), Value::Bool(true));
    let others = state_default::others(&before.thing, id);
    let _room = job.room_for(1 + others.len()).await?;
    let answer = job.patch(resource, id, &body).await?;
    let half_done = partly_done("The state was updated, but another state is still a default:".to_owned());
    let mut changed = state_default::clear(job, resource, &others).await.map_err(half_done)?;
    changed.push(job.held(resource, &answer).await?);
    let json = changed.last().map(|held| held.record.json.clone()).unwrap_or_default();
    write.carry(|before| before.with(&changed));
    write.finish(|before| before.with(&[]));
    Ok(job.record_reply(json))
}

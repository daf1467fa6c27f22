//! Roster of a workspace, which is the workspace card: v1 shows it to members, and an entry in it is the proof of
//! membership. It may be large, so reading it and cutting the page out is heavy work. May use: what `run` may use.

use crate::access::Role;
use crate::heavy::Input;
use crate::refusal::Refusal;
use crate::run::Job;
use crate::run::members::bad_data;
use crate::translate::members;
use crate::v2::Reply;
use std::sync::Arc;
use std::time::Instant;

pub(super) async fn run(job: &Job) -> Result<Reply, Refusal> {
    let (runner, call) = (&job.runner, &job.call);
    let (max_age, asked) = (job.collection_age(), Instant::now());
    let (card, roster) = runner.access.roster_within(&call.caller, job.slug(), max_age, &call.ctx).await?;
    let Some(roster) = roster else {
        // v1 does not show the roster to guests (trap 52, `members_workspace_guest`).
        return Err(Refusal::Forbidden { detail: "Guests may not read the roster of the workspace.".into() });
    };
    // A caller without permission is refused before the query is checked (O2).
    let list = job.list_call()?;
    job.uses(card.read_at, asked, runner.settings.cache.collection);
    let workspace = runner.access.workspace_id(&call.caller, job.slug(), &call.ctx).await?;
    let (shared, resource) = (Arc::clone(runner), job.operation().resource);
    let size = roster.len();
    let look = move || {
        let people = members::read(&roster).map_err(|fault| bad_data(&fault))?;
        let role_of = |person: &members::Person| Role(person.role.unwrap_or_default()).workspace_slug();
        let records = members::memberships(&shared.plan.resources[resource], workspace, &people, role_of);
        Ok::<_, Refusal>(members::page_of(&records, list))
    };
    Ok(Reply::json(200, runner.heavy.run(Input::Own, size, &call.ctx, look).await??))
}

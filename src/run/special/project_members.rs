//! Roster of a project. v1 shows no roles on it (trap 52, `members_seeded_project`): the caller's own role is on the
//! project card; other people's roles are the workspace roles, in project words (O89). A roster may be large, so
//! reading it and cutting the page out is heavy work. May use: what `run` may use.

use crate::access::Role;
use crate::heavy::Input;
use crate::refusal::Refusal;
use crate::run::job::InProject;
use crate::run::kept::shelf::Shelved;
use crate::run::members::bad_data;
use crate::translate::members::{self, Person};
use crate::v2::Reply;
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;
use uuid::Uuid;

pub(super) async fn run(job: &InProject<'_>) -> Result<Reply, Refusal> {
    let list = job.list_call()?;
    let card = job.card;
    let people = job.project_people().await?;
    let roster = workspace_roster(job).await?;
    let (project, own) = (card.id, (job.call.caller.user.id, card.require_member()?));
    let size = people.bytes() + roster.as_ref().map_or(0, Bytes::len);
    let (runner, resource) = (Arc::clone(&job.runner), job.operation().resource);
    let look = move || {
        // Role numbers of the workspace; none for its guests, because v1 does not show them to guests.
        let roles = match &roster {
            Some(roster) => members::roles(&members::read(roster).map_err(|fault| bad_data(&fault))?),
            None => HashMap::new(),
        };
        let role_of = |person: &Person| role(person, own, &roles).project_slug();
        let records = members::memberships(&runner.plan.resources[resource], project, &people, role_of);
        Ok::<_, Refusal>(members::page_of(&records, list))
    };
    Ok(Reply::json(200, job.runner.heavy.run(Input::Own, size, &job.call.ctx, look).await??))
}

fn role(person: &Person, own: (Uuid, Role), roles: &HashMap<Uuid, i64>) -> Role {
    if person.id == own.0 {
        return own.1;
    }
    Role(roles.get(&person.id).copied().unwrap_or_default())
}

/// Returns the roster of the workspace; none when the caller is a guest of it.
async fn workspace_roster(job: &InProject<'_>) -> Result<Option<Bytes>, Refusal> {
    let (max_age, asked) = (job.collection_age(), Instant::now());
    let (access, call) = (&job.runner.access, &job.call);
    let (card, roster) = access.roster_within(&call.caller, job.slug(), max_age, &call.ctx).await?;
    if roster.is_some() {
        job.uses(card.read_at, asked, job.runner.settings.cache.collection);
    }
    Ok(roster)
}

//! Roster of a project. v1 tells no role on it (trap 52, `members_seeded_project`): the caller's own is on the
//! project card, those of other people are the workspace's, in project words (O89). May use: what `run` may use.

use crate::access::Role;
use crate::refusal::Refusal;
use crate::run::job::InProject;
use crate::run::members::bad_data;
use crate::translate::members::{self, Person};
use crate::v2::{Reply, page};
use std::collections::HashMap;
use std::time::Instant;
use uuid::Uuid;

pub(super) async fn run(job: &InProject<'_>) -> Result<Reply, Refusal> {
    let list = job.list_call()?;
    let card = job.card;
    let people = job.project_people().await?;
    let roles = workspace_roles(job).await?;
    let own = (job.call.caller.user.id, card.require_member()?);
    let role_of = |person: &Person| role(person, own, &roles).project_slug();
    let records = members::memberships(job.resource(), card.id, &people, role_of);
    Ok(Reply::json(200, page::answer(records.iter(), &list)))
}

fn role(person: &Person, own: (Uuid, Role), roles: &HashMap<Uuid, i64>) -> Role {
    if person.id == own.0 {
        return own.1;
    }
    Role(roles.get(&person.id).copied().unwrap_or_default())
}

/// Role numbers of the workspace; empty for its guests, to whom v1 does not show them.
async fn workspace_roles(job: &InProject<'_>) -> Result<HashMap<Uuid, i64>, Refusal> {
    let (max_age, asked) = (job.collection_age(), Instant::now());
    let card = job.runner.access.workspace_within(&job.call.caller, job.slug(), max_age, &job.call.ctx).await?;
    let Some(roster) = &card.roster else { return Ok(HashMap::new()) };
    job.uses(card.read_at, asked, job.runner.settings.cache.collection);
    let people = members::read(roster).map_err(|fault| bad_data(&fault))?;
    Ok(members::roles(&people))
}

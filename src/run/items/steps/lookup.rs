//! A work item by its human key, anywhere in the workspace.
//!
//! Every error (the form, the project, the caller's role in it, the number, an archived item) gives the same 404,
//! never 403. v1's answer names the project; the caller's own card of the project decides whether the item may be
//! shown. An archived project does not exist here (trap 58). May use: what `run` may use.

use crate::fresh::Changed;
use crate::index::Index;
use crate::plan::HumanKey;
use crate::refusal::Refusal;
use crate::run::Job;
use crate::run::items::expansions;
use crate::run::items::fields::{ItemSource, Pairing};
use crate::run::job::Inside;
use crate::run::members::SKEW;
use crate::translate::work_items::Item;
use crate::units::now_micros;
use crate::v2::Reply;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// An item, its source, and a call in its project.
type Found = (Item, ItemSource, Inside);

pub(in crate::run) async fn run(job: &Job) -> Result<Reply, Refusal> {
    let key = job.variable("identifier").and_then(HumanKey::parse).ok_or_else(Refusal::not_found)?;
    let mut pairing = match job.runner.project_with(job.slug(), &key.project) {
        Some(project) => Some(Pairing::of(&job.runner, project).await?),
        None => None,
    };
    loop {
        let began = now_micros();
        let (item, source, within) = read(job, &key).await?;
        let pairing = match &mut pairing {
            Some(pairing) => pairing,
            // The project was unknown before, so no recorded data could be noted.
            none => {
                let pairing = none.insert(Pairing::begin(&within.here()).await?);
                if pairing.before.written_at(item.id).is_some_and(|written| written > began - SKEW) {
                    continue;
                }
                pairing
            }
        };
        if let Some(reply) = expansions::paired(&within.here(), &item, source, pairing).await? {
            return Ok(reply);
        }
    }
}

async fn read(job: &Job, key: &HumanKey) -> Result<Found, Refusal> {
    if job.is_short()
        && let Some(found) = in_index(job, key, NoCallReason::Short).await?
    {
        return Ok(found);
    }
    if let Some(project) = job.runner.project_with(job.slug(), &key.project) {
        // Before a cached answer from an outage of v1 can be used: other processes may have written since.
        job.runner.catch_up(project).await;
    }
    match live(job, key).await {
        Err(refusal) if refusal.is_upstream_failure() && job.call.ctx.tolerant => {
            in_index(job, key, NoCallReason::Trouble).await?.ok_or(refusal)
        }
        outcome => outcome,
    }
}

/// Returns the item as v1 shows it, or from the index when v1 cannot tell.
async fn live(job: &Job, key: &HumanKey) -> Result<Found, Refusal> {
    let Some((item, project)) = job.item_by_key(key).await? else { return by_index(job, key).await };
    let mut within = in_project(job, project).await?;
    if within.here().card.identifier != key.project {
        // v1 has just found the item by this key, so the card is older than the identifier.
        job.runner.changes.tell(Changed::ProjectAccess(project));
        within = in_project(job, project).await?;
    }
    job.runner.learn_identifier(job.slug(), within.here().card);
    Ok((item, ItemSource::Read, within))
}

/// Returns the item from the index when v1 fails, as it does for a number that two live items have (trap 18,
/// `items_key_of_shared_number`): the one created first is shown. The caller's own card and own list of
/// projects decide what may be shown.
async fn by_index(job: &Job, key: &HumanKey) -> Result<Found, Refusal> {
    let within = owner_of(job, key).await?;
    let first = within.here().items_by_number(key).await?.into_iter().next().ok_or_else(Refusal::not_found)?;
    let item = within.here().with_live_labels(first).await?;
    Ok((item, ItemSource::Indexed, within))
}

/// Returns a call in the project that has the identifier now. v1 has not told the project, and cached data may be older
/// than a move of the identifier to another project, so the card is read again.
async fn owner_of(job: &Job, key: &HumanKey) -> Result<Inside, Refusal> {
    let runner = &job.runner;
    let is_owner = |within: &Inside| within.here().card.identifier == key.project;
    if let Some(known) = runner.project_with(job.slug(), &key.project)
        && let Ok(within) = in_project_within(job, known, Duration::ZERO).await
    {
        if is_owner(&within) {
            return Ok(within);
        }
        runner.changes.tell(Changed::ProjectAccess(known));
    }
    // The list may be too old as well. Then the card invalidates it, and the next list is current.
    for _ in 0..2 {
        let visible = runner.access.visible_projects(&job.call.caller, job.slug(), &job.call.ctx).await?;
        let project = visible.with_identifier(&key.project).ok_or_else(Refusal::not_found)?;
        let within = in_project_within(job, project, Duration::ZERO).await?;
        if is_owner(&within) {
            return Ok(within);
        }
        runner.changes.tell(Changed::ProjectAccess(project));
    }
    Err(Refusal::not_found())
}

/// Reason for not asking v1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NoCallReason {
    /// v1's quota is short.
    Short,
    /// v1 is unreachable or failing.
    Trouble,
}

/// Returns the item in the index of the project that last had this identifier, if its card still has it.
async fn in_index(job: &Job, key: &HumanKey, because: NoCallReason) -> Result<Option<Found>, Refusal> {
    let Some(project) = job.runner.project_with(job.slug(), &key.project) else { return Ok(None) };
    let inside = match in_project(job, project).await {
        // A project that is gone or invisible to this caller proves nothing: another one can have the identifier now.
        Err(Refusal::NotFound { .. }) => return Ok(None),
        inside => inside?,
    };
    let within = inside.here();
    if within.card.identifier != key.project {
        return Ok(None);
    }
    let find = |index: &Index| {
        let mut found = index.by_sequence(key.number.into());
        found.pop().filter(|_| found.is_empty())
    };
    let item = match because {
        NoCallReason::Short => within.item_in_shortage(find).await?,
        NoCallReason::Trouble => within.item_in_outage(find).await?,
    };
    Ok(item.map(|item| (item, ItemSource::Indexed, inside)))
}

/// Returns the same call as a call in the project of the item.
async fn in_project(job: &Job, project: Uuid) -> Result<Inside, Refusal> {
    in_project_within(job, project, Duration::MAX).await
}

/// The same with a card at most `max_age` old, where that is less than cards are kept for.
async fn in_project_within(job: &Job, project: Uuid, max_age: Duration) -> Result<Inside, Refusal> {
    let call = &job.call;
    let card = job.runner.access.project_within(&call.caller, job.slug(), project, max_age, &call.ctx).await?.value;
    card.require_member().map_err(|_| Refusal::not_found())?;
    job.runner.catch_up(project).await;
    let mut call = call.as_operation(call.operation, call.parameters.clone(), call.ctx.clone());
    call.variables.push(("project_id".into(), project.to_string()));
    Ok(Inside::new(Arc::clone(&job.runner), call, card))
}

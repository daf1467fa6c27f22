//! Projects that a context names: they must be the workspace's, and the caller must see them.
//!
//! A project's card proves both, is kept, and costs one call; more than a few projects that are not known are
//! proven by the list of the workspace's projects, one call per 1,000 of them. May use: what `run` may use.

use super::call::OwnCall;
use crate::catalogue::named_projects;
use crate::refusal::Refusal;
use crate::v2::body::Given;
use futures_util::future::try_join_all;
use std::collections::HashSet;
use uuid::Uuid;

/// Up to so many projects are proven by their cards.
const BY_CARD: usize = 3;

/// Those of the named projects that the caller sees in the workspace.
pub(super) async fn visible(call: &OwnCall<'_>, given: &Given) -> Result<HashSet<Uuid>, Refusal> {
    let named: HashSet<Uuid> = named_projects(given).into_iter().collect();
    if named.len() > BY_CARD {
        return listed(call, named).await;
    }
    let cards = named.into_iter().map(|project| by_card(call, project));
    Ok(try_join_all(cards).await?.into_iter().flatten().collect())
}

async fn by_card(call: &OwnCall<'_>, project: Uuid) -> Result<Option<Uuid>, Refusal> {
    let job = call.job;
    match job.runner.access.project(&job.call.caller, job.slug(), project, &job.call.ctx).await {
        Ok(card) => Ok((card.workspace_id == call.workspace).then_some(project)),
        Err(Refusal::NotFound { .. }) => Ok(None),
        Err(fault) => Err(fault),
    }
}

async fn listed(call: &OwnCall<'_>, named: HashSet<Uuid>) -> Result<HashSet<Uuid>, Refusal> {
    let job = call.job;
    job.runner.access.visible_among(&job.call.caller, job.slug(), named, &job.call.ctx).await
}

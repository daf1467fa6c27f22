//! Projects that a context names: they must be the workspace's, and the caller must see them.
//!
//! A project's card proves both, is kept, and costs one call; more than a few projects that are not known are
//! proven by the list of the workspace's projects, one call per 1,000 of them.

use super::call::OwnCall;
use crate::catalogue::named_projects;
use crate::plan::Rows;
use crate::refusal::Refusal;
use crate::run::collection::bad_data;
use crate::translate::incoming;
use crate::v2::body::Given;
use futures_util::future::try_join_all;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::HashSet;
use uuid::Uuid;

/// Up to so many projects are proven by their cards.
const BY_CARD: usize = 3;
const QUERY: &str = "fields=id,archived_at";

#[derive(Deserialize)]
struct Row {
    id: Uuid,
    #[serde(default)]
    archived_at: Option<IgnoredAny>,
}

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
    let path = format!("workspaces/{}/projects/", job.slug());
    let pages = job.runner.client.read_all(job.key(), &path, QUERY, &job.call.ctx).await.map_err(Refusal::from)?;
    let mut seen = HashSet::new();
    for page in &pages {
        for row in incoming::rows(Rows::Paged, page).map_err(|fault| bad_data(&fault))? {
            let row: Row = serde_json::from_str(row.get()).map_err(Refusal::internal)?;
            if row.archived_at.is_none() && named.contains(&row.id) {
                seen.insert(row.id);
            }
        }
    }
    Ok(seen)
}

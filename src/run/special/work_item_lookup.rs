//! A work item by its human key, anywhere in the workspace.
//!
//! Whatever is wrong (the form, the project, the caller's place in it, the number, an archived item) gives the
//! same 404, never 403. v1's answer names the project; the caller's own card of it decides whether it may be
//! shown, and an archived project is not there (trap 58).

use crate::refusal::Refusal;
use crate::run::job::Call;
use crate::run::{Job, expansions};
use crate::translate::work_items::CustomFields;
use crate::translate::work_items_key::HumanKey;
use crate::v2::Reply;
use bytes::Bytes;
use serde_json::Map;
use std::sync::Arc;
use uuid::Uuid;

pub(super) async fn run(job: &Job) -> Result<Reply, Refusal> {
    let key = job.variable("identifier").and_then(HumanKey::parse).ok_or_else(Refusal::not_found)?;
    let (item, project) = job.item_by_key(&key).await?;
    let within = in_project(job, project).await?;
    expansions::reply(&within, &item, CustomFields::Shown(&Map::new())).await
}

/// The same call, as one on the project the item turned out to be in.
async fn in_project(job: &Job, project: Uuid) -> Result<Job, Refusal> {
    let call = &job.call;
    let card = job.runner.access.project(&call.caller, job.slug(), project, &call.ctx).await?;
    card.require_member().map_err(|_| Refusal::not_found())?;
    let mut variables = call.variables.clone();
    variables.push(("project_id".into(), project.to_string()));
    let call = Call {
        operation: call.operation,
        variables,
        parameters: call.parameters.clone(),
        caller: call.caller.clone(),
        card: Some(card),
        content_type: None,
        body: Ok(Bytes::new()),
        ctx: call.ctx.clone(),
    };
    Ok(Job::new(Arc::clone(&job.runner), call))
}

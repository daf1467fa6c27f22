//! States that v1 shows on work items but does not list: a state with the flag `is_triage` (trap 37), and a state of
//! another project, which v1 itself sets when it closes old items and the project names no state for that.
//!
//! v1 shows such a state when it is expanded. The result is cached beside the states of the project.
//!
//! May use: what `run` may use.

use crate::plan::Known;
use crate::refusal::Refusal;
use crate::run::job::InProject;
use crate::run::kept::collection::Collection;
use crate::run::members::{Members, members};
use crate::translate::work_items::Item;
use crate::v1::V1Request;
use serde_json::Value;
use std::sync::Arc;
use uuid::Uuid;

const EXPANDED: &str = "fields=id,state&expand=state";
const ID: &str = "fields=id";

/// Returns the state of the work item `item`, which `states` does not list, in v1's members; none when the item is gone
/// or has another state by now.
pub(in crate::run) async fn of_item(
    job: &InProject<'_>,
    states: &Collection,
    state: Uuid,
    item: Uuid,
) -> Result<Option<Arc<Members>>, Refusal> {
    if let Some(known) = states.beside(state) {
        return Ok(Some(known));
    }
    let shown = read(job, item, EXPANDED).await?.and_then(|mut shown| shown.remove("state"));
    let Some(Value::Object(shown)) = shown.filter(|shown| shown["id"] == state.to_string()) else {
        return Ok(None);
    };
    let shown = Arc::new(shown);
    states.keep_beside(state, Arc::clone(&shown));
    Ok(Some(shown))
}

/// Checks whether v1's reads show an item that is neither archived nor a draft: they hide items in triage (trap 53).
pub(in crate::run) async fn is_shown(job: &InProject<'_>, item: &Item) -> Result<bool, Refusal> {
    let states = job.load(job.resource_named(Known::States)?).await?.value;
    // v1 lists no triage state; but it may omit other states too.
    Ok(states.get(item.state).is_some() || read(job, item.id, ID).await?.is_some())
}

/// Reads a work item as v1 shows it now; none when no read shows it.
async fn read(job: &InProject<'_>, item: Uuid, query: &str) -> Result<Option<Members>, Refusal> {
    let request = V1Request::get(job.record_path(job.work_items()?, item)?, query);
    let answer = job.runner.client.ask(job.key(), request, &job.call.ctx).await;
    let answer = job.explain_refused_read(answer).await?;
    match answer.status {
        200 => members(&answer).map(Some),
        404 => Ok(None),
        403 => Err(job.after_refused_read(Refusal::not_found()).await),
        status => Err(Refusal::upstream("The work item could not be read.", format!("status {status}"))),
    }
}

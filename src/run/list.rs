//! Reads: a page of a collection, or one record of it.

use super::collection::Collection;
use super::job::Job;
use crate::plan::Resource;
use crate::refusal::Refusal;
use crate::translate::Held;
use crate::v2::{Reply, query};
use std::sync::Arc;
use std::time::Instant;
use uuid::Uuid;

/// Reads the complete collection; filters, orders and pages it here, because v1 does none of it (traps 47, 48).
pub(super) async fn list(job: &Job) -> Result<Reply, Refusal> {
    let call =
        query::read_list(job.operation(), job.resource(), &job.call.parameters, job.runner.settings.strict_query)?;
    let loaded = job.load(job.resource()).await?;
    job.page_of(loaded.thing, call).await
}

/// Finds one record in the collection.
pub(super) async fn one(job: &Job) -> Result<Reply, Refusal> {
    let held = find(job, job.resource(), job.pk()?).await?.ok_or_else(Refusal::not_found)?;
    query::read_single(job.operation(), &job.call.parameters)?;
    Ok(job.record_reply(held.record.json.clone()))
}

/// The record `id`, from what is kept or, when it is not there, from a fresh read: "not found" is never said
/// on the word of a cache.
pub(super) async fn find(job: &Job, resource: &Resource, id: Uuid) -> Result<Option<Arc<Held>>, Refusal> {
    let all = load_with(job, resource, |all| all.get(id).is_some()).await?;
    Ok(all.get(id).cloned())
}

/// The collection, read again when what is kept does not satisfy `complete`.
pub(super) async fn load_with(
    job: &Job,
    resource: &Resource,
    complete: impl Fn(&Collection) -> bool,
) -> Result<Arc<Collection>, Refusal> {
    let asked = Instant::now();
    let loaded = job.load(resource).await?;
    if loaded.is_newer_than(asked) || complete(&loaded.thing) {
        return Ok(loaded.thing);
    }
    Ok(job.load_since(resource, asked).await?.thing)
}

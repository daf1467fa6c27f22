//! Deletes a record of a plain resource.

use super::Collection;
use super::job::Job;
use super::shelf::Write;
use crate::refusal::Refusal;
use crate::v2::Reply;

/// One DELETE; v1 itself says whether the record exists and whether the role may.
pub(super) async fn delete(job: &Job) -> Result<Reply, Refusal> {
    let write = job.begin_write().await?;
    let was_there = write.before().is_some_and(|kept| job.pk().is_ok_and(|id| kept.thing.get(id).is_some()));
    delete_now(job, write, was_there).await
}

/// The DELETE and what follows from it: the record leaves what is kept, its overlay goes. `was_there` tells whether
/// v1 has shown the record before.
pub(super) async fn delete_now(job: &Job, write: Write<'_, Collection>, was_there: bool) -> Result<Reply, Refusal> {
    let (resource, id) = (job.resource(), job.pk()?);
    job.delete(resource, id, was_there).await?;
    write.finish(|before| before.without(id));
    job.left_by_all(resource, id).await?;
    if let Some(card) = &job.call.card {
        job.runner.store.delete_overlay(card.workspace_id, &resource.name, id).await?;
    }
    Ok(Reply::no_content())
}

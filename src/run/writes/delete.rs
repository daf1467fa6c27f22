//! Deletes a record of a plain resource.
//!
//! May use: what `run` may use.

use super::write::half_deleted;
use super::{flagged_delete, one_flag, update};
use crate::plan::Extra;
use crate::refusal::Refusal;
use crate::run::job::Job;
use crate::run::kept::shelf::Write;
use crate::run::members::as_id;
use crate::run::reads::list;
use crate::run::{Collection, rules};
use crate::translate::Held;
use crate::v2::Reply;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Sends one DELETE; v1 checks itself whether the record exists and the role is sufficient. When the operation declares
/// more rules, the record is read first.
pub(in crate::run) async fn delete(job: &Job) -> Result<Reply, Refusal> {
    let write = job.begin_write().await?;
    if let Some(field) = job.operation().detach_children {
        return delete_alone(job, write, field).await;
    }
    let was_there = write.before().is_some_and(|kept| job.pk().is_ok_and(|id| kept.value.get(id).is_some()));
    let is_unseen = job.operation().reads_first && !was_there;
    if is_unseen || job.operation().may.is_some() || job.resource().requires.is_some() {
        let stored = list::read_to_write(job, write.latest()).await?;
        rules::check_may_write(job, &stored).await?;
        return delete_now(job, write, true).await;
    }
    delete_now(job, write, was_there).await
}

/// Deletes a record but not its children by `field`. v1 deletes children with it (trap 39,
/// `labels_child_after_parent_delete`), v2 makes them top-level (O57). A fresh list finds the children, a PATCH
/// detaches each, then the record is deleted. A crash in between leaves the record with fewer children, but deletes no
/// child.
async fn delete_alone(job: &Job, mut write: Write<'_, Collection>, field: usize) -> Result<Reply, Refusal> {
    let (resource, id) = (job.resource(), job.pk()?);
    let record = update::refresh(job, &mut write, id).await?;
    rules::check_may_write(job, &record).await?;
    let all = write.before().ok_or_else(|| Refusal::internal("no list in hand"))?;
    let above = |held: &Held| as_id(&rules::value_of(resource, field, held)?);
    let children: Vec<&Arc<Held>> = all.value.rows().iter().filter(|held| above(held) == Some(id)).collect();
    let _room = job.room_for(&[(Extra::Child, children.len())], 0).await?;
    let key = resource.fields[field].spec.v1.clone();
    let body: Map<String, Value> = key.into_iter().map(|key| (key, Value::Null)).collect();
    let mut detached = Vec::new();
    for child in children {
        let failed = half_deleted("record", detached.len(), false);
        let answer = job.patch(child.record.id, &body).await.map_err(&failed)?;
        detached.push(job.translate_written(&answer).await.map_err(&failed)?);
    }
    write.carry(|before| before.with(&detached));
    delete_now(job, write, true).await.map_err(half_deleted("record", detached.len(), true))
}

/// Sends the DELETE, then removes the record from the cache and deletes its overlay. `was_there` tells whether v1 has
/// shown the record before.
async fn delete_now(job: &Job, mut write: Write<'_, Collection>, was_there: bool) -> Result<Reply, Refusal> {
    let (resource, id) = (job.resource(), job.pk()?);
    match &resource.exclusive {
        Some(rule) => {
            Box::pin(flagged_delete::delete(job, &mut write, rule, was_there)).await?;
            Box::pin(one_flag::remove(job, write, rule, id)).await;
        }
        None => {
            job.delete(id, was_there).await?;
            write.finish(|before| before.without(id));
        }
    }
    if let Some(within) = job.in_project() {
        within.empty_set_of_deleted(id).await?;
    }
    if resource.keeps_values() {
        job.runner.store.delete_overlay(job.workspace_id().await?, &resource.name, id).await?;
    }
    Ok(Reply::no_content())
}

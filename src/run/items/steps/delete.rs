//! Deletes a work item, but not its children.
//!
//! v1 deletes the children in the background (trap 39, `items_child_after_parent_delete`), v2 makes them
//! top-level (O47). So a PATCH detaches each child, then the item is deleted. A crash in between leaves an item
//! with fewer children, but deletes no child. v1 lists no archived children; the store knows those archived through the
//! gateway. v1 decides who may delete (trap 40); but no child is changed for a delete that v1 is known to refuse. Type
//! and values are deleted with the item. The delete of an item with recorded data is noted, so that a lost answer
//! leaves nothing behind. May use: what `run` may use.

use crate::access::Role;
use crate::plan::Extra;
use crate::refusal::Refusal;
use crate::run::items::fields::{ItemSource, WriteUnderWay, note_absence, settle_open_writes};
use crate::run::job::InProject;
use crate::run::writes::write::half_deleted;
use crate::store::Settled;
use crate::translate::work_items::Item;
use crate::v2::Reply;
use serde_json::{Map, Value};
use uuid::Uuid;

pub(in crate::run) async fn run(job: &InProject<'_>) -> Result<Reply, Refusal> {
    let id = job.pk()?;
    let (children, item) = match job.runner.indexes.is_built(&job.index_scope()?) {
        // The children first: this search refreshes the index, which then proves that the item is live.
        true => (job.children_of(id).await?, job.live_item(id).await?),
        // The search would read the whole list, also for an item that does not exist.
        false => {
            let item = job.live_item(id).await?;
            (job.children_of(id).await?, item)
        }
    };
    let archived = job.runner.store.archived_below(job.card.id, id).await?;
    // v1 also loads and saves the children, so no other write may change them meanwhile.
    job.take_turns_of_records(children.iter().chain(&archived).copied()).await?;
    let is_parent = !children.is_empty() || !archived.is_empty();
    if is_parent && !may_delete(job, &item)? {
        return Err(Refusal::Forbidden { detail: "Only admin or creator can delete the work item.".into() });
    }
    let recorded = settle_open_writes(job, std::slice::from_ref(&item), ItemSource::Indexed).await?;
    let below = [(Extra::Child, children.len()), (Extra::ArchivedChild, archived.len())];
    let _room = job.room_for(&below, 0).await?;
    let mut detached = 0;
    for child in children.into_iter().filter(|child| *child != id) {
        detach(job, child).await.map_err(half_deleted("item", detached, false))?;
        detached += 1;
    }
    for child in archived {
        match job.live_item(child).await {
            Err(Refusal::NotFound { .. }) => {
                detach(job, child).await.map_err(half_deleted("item", detached, false))?;
                detached += 1;
            }
            // A child unarchived by v1's own users was listed above, or has moved since.
            Ok(_) => {}
            Err(refusal) => return Err(half_deleted("item", detached, false)(refusal)),
        }
    }
    let begun = WriteUnderWay::delete(job, id, recorded.knows(id)).await?;
    if let Err(refusal) = job.delete(id, true).await {
        begun.settle_failed(job, &refusal).await;
        return Err(half_deleted("item", detached, true)(refusal));
    }
    job.item_gone(id);
    begun.settle(job, Settled::Purged(id)).await?;
    if recorded.open.iter().any(|intent| intent.item == Some(id)) {
        // Earlier writes to it whose answers were lost end with the item.
        note_absence(job, id).await;
    }
    Ok(Reply::no_content())
}

/// Checks v1's rule (`items_delete_by_member_not_creator`, `perm_project_admin_deletes_others_item`).
fn may_delete(job: &InProject<'_>, item: &Item) -> Result<bool, Refusal> {
    let role = job.card.require_member()?;
    Ok(role >= Role::ADMIN || item.created_by == Some(job.call.caller.user.id))
}

async fn detach(job: &InProject<'_>, child: Uuid) -> Result<(), Refusal> {
    let body = Map::from_iter([("parent".to_owned(), Value::Null)]);
    match job.patch(child, &body).await {
        Ok(answer) => {
            job.item_changed(&job.item_after(child, &answer).await?);
            Ok(())
        }
        // Deleted since it was listed.
        Err(Refusal::NotFound { .. }) => Ok(()),
        Err(refusal) => Err(refusal),
    }
}

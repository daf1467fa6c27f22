//! Deletes a label without the labels below it.
//!
//! v1 deletes the children with it (trap 39, `labels_child_after_parent_delete`), v2 makes them top-level
//! (O57). A fresh list finds the children, each is detached by a PATCH, then the label goes. A crash in
//! between leaves the label with fewer children, never a child deleted. v1 takes the label from work items in the
//! background (`labels_item_after_label_delete`); until then it is left out of what v1 shows of them.

use crate::refusal::Refusal;
use crate::run::Job;
use crate::run::write::partly_done;
use crate::run::{delete, update};
use crate::translate::{Held, labels};
use crate::v2::Reply;
use serde_json::{Map, Value};
use std::sync::Arc;

pub(super) async fn run(job: &Job) -> Result<Reply, Refusal> {
    let resource = job.resource();
    let mut write = job.begin_write().await?;
    let label = update::refresh(job, &mut write, job.pk()?).await?;
    let all = write.before().ok_or_else(|| Refusal::internal("no list in hand"))?;
    let is_child = |held: &&Arc<Held>| labels::parent_of(held) == Some(label.record.id);
    let children: Vec<_> = all.thing.rows().iter().filter(is_child).collect();
    let _room = job.room_for(children.len() + 1).await?;
    let mut detached = Vec::new();
    for child in children {
        let body = Map::from_iter([("parent".to_owned(), Value::Null)]);
        let failed = half_done(detached.len());
        let answer = job.patch(resource, child.record.id, &body).await.map_err(&failed)?;
        detached.push(job.held(resource, &answer).await.map_err(&failed)?);
    }
    write.carry(|before| before.with(&detached));
    let reply = delete::delete_now(job, write, true).await.map_err(half_done(detached.len()))?;
    job.runner.deleted_labels.insert(label.record.id, ());
    Ok(reply)
}

/// What v1 refuses by its own rules stays what it is; anything else says how far the delete came.
fn half_done(detached: usize) -> impl Fn(Refusal) -> Refusal {
    let told =
        partly_done(format!("{detached} labels below it were made top-level, but the label was not deleted:"));
    move |refusal| if detached == 0 || refusal.status() < 429 { refusal } else { told(refusal) }
}

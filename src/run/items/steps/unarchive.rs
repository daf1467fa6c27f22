//! Brings an archived work item back; for a live one nothing happens.
//!
//! v1 shows no archived item to a read, but a PATCH reaches it (trap 53, `archived_unarchive_by_patch`). The
//! PATCH would reach drafts and triage items as well, changing nothing about them; its answer tells, and they
//! are not there for v2. May use: what `run` may use.

use crate::plan::Known;
use crate::refusal::Refusal;
use crate::run::in_project::InProject;
use crate::run::items::expansions;
use crate::run::items::fields::{Looking, settle_open_writes};
use crate::run::reads::list;
use crate::translate::work_items::Item;
use crate::v2::Reply;
use serde_json::{Map, Value};

pub(in crate::run) async fn run(job: &InProject<'_>) -> Result<Reply, Refusal> {
    let id = job.pk()?;
    let (item, _room) = match job.read_item(id).await {
        Ok(live) => (live, None),
        Err(Refusal::NotFound { .. }) => {
            let room = job.room_for(&[], expansions::calls(job)?).await?;
            (bring_back(job).await?, Some(room))
        }
        Err(refusal) => return Err(refusal),
    };
    let recorded = settle_open_writes(job, std::slice::from_ref(&item), Looking::Read).await?;
    if recorded.archived.contains(&item.id) {
        let card = job.card;
        job.runner.store.mark_archived(card.workspace_id, card.id, item.id, None).await?;
    }
    expansions::reply_without_values(job, &item, &recorded).await
}

async fn bring_back(job: &InProject<'_>) -> Result<Item, Refusal> {
    let body = Map::from_iter([("archived_at".to_owned(), Value::Null)]);
    let answer = job.patch(job.resource(), job.pk()?, &body).await?;
    let item = job.item_after(job.pk()?, &answer).await?;
    // v1 lists no triage state (trap 37), so an item in an unlisted state is in triage.
    let listed = list::find(job, job.resource_named(Known::States)?, item.state).await?.is_some();
    if item.is_draft || !listed {
        job.has_changed_nothing();
        return Err(Refusal::not_found());
    }
    job.item_changed(&item);
    // v1 lists it in its cycles and modules only from now on.
    job.runner.sets.void_in(job.card.id);
    Ok(item)
}

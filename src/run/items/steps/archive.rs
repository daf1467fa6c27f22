//! Archives a work item, and unarchives it. v1 has no route for this; a PATCH of `archived_at` with a day does it (trap
//! 53, `archived_archive_by_patch`). Only a live item can be archived, so a second archive is 404. v1 stores the day;
//! the gateway stores the instant, which also marks the item as archived and not missing, so that its values stay. It
//! also stores data that v1 does not show any more: the name, for the item's children, and the parent, for its later
//! delete. An archive that may have been carried out is stored too, because all this changes nothing about an item that
//! v1 shows. The expansions of the answer are looked up before the write: a state that v1 does not list, and a hidden
//! parent, are shown only by the live item.
//! May use: what `run` may use.

use crate::refusal::Refusal;
use crate::run::items::fields::{ItemSource, settle_open_writes};
use crate::run::items::{expansions, unlisted_states};
use crate::run::job::InProject;
use crate::store::{ArchivedItem, IntentKind};
use crate::translate::work_items::Item;
use crate::v2::{Reply, time};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};
use std::sync::atomic::Ordering;
use uuid::Uuid;

pub(in crate::run) async fn run(job: &InProject<'_>) -> Result<Reply, Refusal> {
    let id = job.pk()?;
    let live = job.live_item(id).await?;
    let recorded = settle_open_writes(job, std::slice::from_ref(&live), ItemSource::Indexed).await?;
    // Once the item is hidden, nothing shows whether v1 deletes it late.
    if recorded.open.iter().any(|intent| intent.kind == IntentKind::Delete && intent.item == Some(id)) {
        return Err(Refusal::WriteUndecided);
    }
    let _room = job.room_for(&[], expansions::calls(job)?).await?;
    // An error here is reported after the write, like every other error of the answer.
    let added = expansions::asked_for(job, &live, &recorded).await.ok();
    let now = Timestamp::now();
    let today = now.to_zoned(TimeZone::UTC).date().to_string();
    let body = Map::from_iter([("archived_at".to_owned(), Value::String(today))]);
    let mut item = match job.patch(id, &body).await {
        Ok(answer) => job.item_from(&answer).unwrap_or_else(|_| live.clone()),
        // v1 does not show an archived item (trap 53, `archived_get`), and the item was live a moment ago.
        Err(doubt @ Refusal::OutcomeUnknown { .. }) => match job.is_gone(id).await {
            Ok(true) => live.clone(),
            _ => {
                if let Err(refusal) = note(job, &live, now).await {
                    tracing::warn!(item = %id, code = refusal.code(), "an archive in doubt could not be noted");
                }
                return Err(doubt);
            }
        },
        Err(refusal) => return Err(refusal),
    };
    job.item_gone(id);
    note(job, &item, now).await?;
    item.archived_at = Some(time::write(now.as_microsecond()));
    // A row of the index may be from before another change.
    let added = match added.filter(|_| refers_to(&item) == refers_to(&live)) {
        Some(added) => added,
        None => expansions::asked_for(job, &item, &recorded).await?,
    };
    expansions::reply_without_values(job, &item, &recorded, &added).await
}

/// Stores that the item was archived, with the data that v1 does not show any more.
async fn note(job: &InProject<'_>, item: &Item, at: Timestamp) -> Result<(), Refusal> {
    let card = job.card;
    let noted = ArchivedItem {
        at: at.as_microsecond(),
        name: item.name.clone(),
        sequence_id: item.sequence_id,
        parent: item.parent,
    };
    Ok(job.runner.store.mark_archived(card.workspace_id, card.id, item.id, Some(&noted)).await?)
}

/// Returns the records that an item refers to, apart from its type.
fn refers_to(item: &Item) -> (Uuid, Option<Uuid>, &[Uuid], &[Uuid]) {
    (item.state, item.parent, &item.assignees, &item.labels)
}

/// Unarchives a work item; does nothing for a live one. The PATCH for it (`archived_unarchive_by_patch`) would also
/// reach drafts and triage items, without changing them. Its answer shows what they are, and v2 answers 404 for them.
pub(in crate::run) async fn unarchive_item(job: &InProject<'_>) -> Result<Reply, Refusal> {
    let id = job.pk()?;
    let (item, _room) = match job.read_item(id).await {
        Ok(live) => (live, None),
        Err(Refusal::NotFound { .. }) => {
            let room = job.room_for(&[], expansions::calls(job)?).await?;
            (unarchived_item(job).await?, Some(room))
        }
        Err(refusal) => return Err(refusal),
    };
    // It may have come back past the gateway, unnoticed by the index.
    job.item_changed(&item);
    // v1 lists the item in its cycles and modules only from now on.
    job.runner.sets.void_in(job.card.id);
    let recorded = settle_open_writes(job, std::slice::from_ref(&item), ItemSource::Read).await?;
    if recorded.archived.contains(&item.id) {
        let card = job.card;
        job.begin_to_write()?;
        job.runner.store.mark_archived(card.workspace_id, card.id, item.id, None).await?;
    }
    let added = expansions::asked_for(job, &item, &recorded).await?;
    expansions::reply_without_values(job, &item, &recorded, &added).await
}

async fn unarchived_item(job: &InProject<'_>) -> Result<Item, Refusal> {
    let body = Map::from_iter([("archived_at".to_owned(), Value::Null)]);
    let answer = job.patch(job.pk()?, &body).await?;
    let item = job.item_after(job.pk()?, &answer).await?;
    if item.is_draft || !unlisted_states::is_shown(job, &item).await? {
        // v1 has changed nothing, except where the item was archived as well: then its date of archiving is gone.
        job.touched.store(false, Ordering::SeqCst);
        return Err(Refusal::not_found());
    }
    Ok(item)
}

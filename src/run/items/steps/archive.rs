//! Archives a work item, and brings it back. v1 has no route for it; a PATCH of `archived_at` with a day does it (trap 53,
//! `archived_archive_by_patch`). Only a live item can be archived, so a second archive is 404. v1 keeps the day;
//! the instant is kept here, and with it the fact that the item is archived and not gone, so that its values stay. The
//! things that v1 tells no more of it are kept too: its name for its children, and its parent for when that is deleted.
//! What the answer shows beside it is looked up before: a state that v1 does not list, and a parent that it hides, are
//! told by the item alone.
//! May use: what `run` may use.

use crate::refusal::Refusal;
use crate::run::items::fields::{Looking, settle_open_writes};
use crate::run::items::{expansions, unlisted_states};
use crate::run::job::InProject;
use crate::store::ArchivedItem;
use crate::translate::work_items::Item;
use crate::v2::{Reply, time};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};
use uuid::Uuid;

pub(in crate::run) async fn run(job: &InProject<'_>) -> Result<Reply, Refusal> {
    let id = job.pk()?;
    let live = job.live_item(id).await?;
    let recorded = settle_open_writes(job, std::slice::from_ref(&live), Looking::Indexed).await?;
    let _room = job.room_for(&[], expansions::calls(job)?).await?;
    // When it fails, it is told after the write, like every other fault of the answer.
    let added = expansions::asked_for(job, &live, &recorded).await.ok();
    let now = Timestamp::now();
    let today = now.to_zoned(TimeZone::UTC).date().to_string();
    let body = Map::from_iter([("archived_at".to_owned(), Value::String(today))]);
    let mut item = match job.patch(job.resource(), id, &body).await {
        Ok(answer) => job.item_from(&answer).unwrap_or_else(|_| live.clone()),
        // An archived item is not shown (trap 53, `archived_get`), and it was live a moment ago.
        Err(doubt @ Refusal::OutcomeUnknown { .. }) => match job.is_gone(job.resource(), id).await {
            Ok(true) => live.clone(),
            _ => return Err(doubt),
        },
        Err(refusal) => return Err(refusal),
    };
    job.item_gone(id);
    let (card, instant) = (job.card, now.as_microsecond());
    let noted =
        ArchivedItem { at: instant, name: item.name.clone(), sequence_id: item.sequence_id, parent: item.parent };
    job.runner.store.mark_archived(card.workspace_id, card.id, id, Some(&noted)).await?;
    item.archived_at = Some(time::write(instant));
    // A row of the index may be from before another change.
    match added.filter(|_| refers_to(&item) == refers_to(&live)) {
        Some(added) => expansions::reply_with(job, &item, &recorded, &added).await,
        None => expansions::reply_without_values(job, &item, &recorded).await,
    }
}

/// The records that an item names, apart from its type.
fn refers_to(item: &Item) -> (Uuid, Option<Uuid>, &[Uuid], &[Uuid]) {
    (item.state, item.parent, &item.assignees, &item.labels)
}

/// Brings an archived work item back; for a live one nothing happens. The PATCH that brings it back
/// (`archived_unarchive_by_patch`) would reach drafts and triage items as well, changing nothing about them; its answer
/// tells, and they are not there for v2.
pub(in crate::run) async fn bring_back(job: &InProject<'_>) -> Result<Reply, Refusal> {
    let id = job.pk()?;
    let (item, _room) = match job.read_item(id).await {
        Ok(live) => (live, None),
        Err(Refusal::NotFound { .. }) => {
            let room = job.room_for(&[], expansions::calls(job)?).await?;
            (taken_out(job).await?, Some(room))
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

async fn taken_out(job: &InProject<'_>) -> Result<Item, Refusal> {
    let body = Map::from_iter([("archived_at".to_owned(), Value::Null)]);
    let answer = job.patch(job.resource(), job.pk()?, &body).await?;
    let item = job.item_after(job.pk()?, &answer).await?;
    if item.is_draft || !unlisted_states::is_shown(job, &item).await? {
        job.has_changed_nothing();
        return Err(Refusal::not_found());
    }
    job.item_changed(&item);
    // v1 lists it in its cycles and modules only from now on.
    job.runner.sets.void_in(job.card.id);
    Ok(item)
}

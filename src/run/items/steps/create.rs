//! Creates a work item.
//!
//! Names and ids are resolved first, because v1 silently drops values that do not belong (trap 15). The item
//! is read back, because v1's answer is not the stored item (trap 20, `items_create_minimal`). If v1 still dropped a
//! person (a guest of the project, or someone just removed), the whole item is deleted again. An empty set of
//! assignees gets v1's default assignee (trap 16, `items_default_assignee_explicit_empty`) and is emptied by a PATCH.
//! v1 only checks that an estimate point belongs to the project (`estimates_create_foreign_point`); whether its
//! estimate is the active one is checked when the item is read back.
//!
//! Type and values are noted before v1 is called, and stored when v1 shows the item under the id in its answer. The id
//! alone is not enough: stored under a wrong id, they would be lost for the created item. May use: what `run` may
//! use.

use crate::plan::{Extra, WriteKind};
use crate::refusal::{FieldError, Refusal};
use crate::run::items::fields::WriteUnderWay;
use crate::run::items::names::{self, Resolved};
use crate::run::items::{expansions, workflow};
use crate::run::job::InProject;
use crate::run::members::{Members, as_id, id_of, members};
use crate::run::writes::write::{created_but, in_words, is_certain};
use crate::run::writes::{checks, find_out};
use crate::store::Settled;
use crate::translate::confirm::Checked;
use crate::translate::{work_items, work_items_write};
use crate::units::now_micros;
use crate::v1::Doubt;
use crate::v2::Reply;
use crate::v2::body::Given;
use crate::v2::time::Micros;
use serde_json::{Map, Value};
use uuid::Uuid;

/// Most microseconds that v1's clock may differ from ours when its answer is accepted as the new item.
const CLOCKS: Micros = 3_600_000_000;

pub(in crate::run) async fn run(job: &InProject<'_>) -> Result<Reply, Refusal> {
    let given = job.given_with(|given| work_items_write::faults_between(given).into())?;
    let Resolved { body, own, .. } = names::resolve(job, &given, None).await?;
    checks::order_of_dates(job.resource(), &given, None)?;
    let state = body.get("state").and_then(as_id);
    workflow::check_create(job, state).await?;
    // Room for correcting or deleting the item when v1 drops a person.
    let _room = job.room_for(&[(Extra::DroppedSet, 1)], expansions::calls(job)?).await?;
    let is_plain = own.is_empty();
    let begun = WriteUnderWay::create(job, &body, own).await?;
    let began = now_micros();
    let CreatedItem { id, stored, estimate, checked } = match make(job, &given, &body, is_plain).await {
        Ok(made) => made,
        Err(refusal) => {
            begun.settle_failed(job, &refusal).await;
            return Err(refusal);
        }
    };
    begun.settle(job, Settled::Done(id)).await.map_err(created_but(id))?;
    if let Some(estimate) = estimate.filter(|_| job.is_made_since(&stored, began - CLOCKS))
        && !is_active(job, estimate).await.map_err(created_but(id))?
    {
        let field = work_items_write::as_sent(&given, "estimate_point_id");
        let errors = vec![FieldError::new(field, "names no point of the active estimate of this project")];
        return Err(take_back(job, id, errors).await);
    }
    let stored = correct_or_take_back(job, &given, (id, began), &body, stored, &checked).await?;
    let item = job.item_from(&stored).map_err(created_but(id))?;
    job.item_changed(&item);
    let recorded = job.runner.store.project_items(job.card.id).await.map_err(Refusal::from);
    let recorded = recorded.map_err(created_but(id))?;
    expansions::reply(job, &item, &recorded).await.map_err(created_but(id))
}

async fn post(job: &InProject<'_>, given: &Given, body: &Members) -> Result<Uuid, Refusal> {
    let answer = job.post_raw(body).await?;
    if !answer.is_success() {
        let refusal = job.refusal_of_write(WriteKind::Create, &answer).await;
        return Err(work_items_write::refusal(given, refusal));
    }
    id_of(&members(&answer)?)
}

/// The item that v1 has created.
struct CreatedItem<'j> {
    id: Uuid,
    /// The item as v1 shows it.
    stored: Members,
    /// The estimate of its point.
    estimate: Option<Uuid>,
    /// Comparison with the sent members: everything is there except for elements of sets that v1 may drop.
    checked: Checked<'j>,
}

/// Checks whether this is the project's estimate now.
async fn is_active(job: &InProject<'_>, estimate: Uuid) -> Result<bool, Refusal> {
    // The project may have another estimate since the card was read.
    Ok(job.card.estimate == Some(estimate) || job.card_now().await?.estimate == Some(estimate))
}

async fn make<'j>(
    job: &'j InProject<'_>,
    given: &Given,
    body: &Members,
    is_plain: bool,
) -> Result<CreatedItem<'j>, Refusal> {
    let resource = job.resource();
    let id = post(job, given, body).await?;
    if is_plain {
        job.runner.plain.insert(id, ());
    }
    let query = match body.get("estimate_point") {
        Some(Value::String(_)) => format!("{}&expand=estimate_point", work_items::WHOLE),
        _ => work_items::WHOLE.to_owned(),
    };
    let mut stored = job.read_created(id, &query).await.map_err(|refusal| {
        let what = format!("The service behind told the id {id} for the new work item, but did not show the item.");
        let timed_out = refusal.status() == 504;
        Doubt { timed_out, ..Doubt::answered(what, format!("{refusal:?}")) }.refusal()
    })?;
    let estimate = work_items_write::take_estimate(&mut stored);
    let checked = work_items_write::check(resource, body, &stored);
    if !checked.missing.is_empty() || !find_out::are_sets(resource, &checked.lost) {
        checked.confirm(resource).map_err(created_but(id))?;
    }
    Ok(CreatedItem { id, stored, estimate, checked })
}

/// Corrects, undoes or reports the difference between the stored and the sent members.
///
/// An item that this caller has not created since `began` is another one, and is not changed.
async fn correct_or_take_back(
    job: &InProject<'_>,
    given: &Given,
    (id, began): (Uuid, Micros),
    body: &Members,
    stored: Members,
    checked: &Checked<'_>,
) -> Result<Members, Refusal> {
    let resource = job.resource();
    let nobody = body.get("assignees").and_then(Value::as_array).is_some_and(Vec::is_empty);
    if checked.lost == ["assignee_ids"] && nobody && job.is_made_since(&stored, began - CLOCKS) {
        let body = Map::from_iter([("assignees".to_owned(), Value::Array(Vec::new()))]);
        return job.patch(id, &body).await.map_err(created_but(id));
    }
    if let Some(errors) = work_items_write::dropped_sets(resource, given, body, &stored, &checked.lost)
        && job.is_made_since(&stored, began - CLOCKS)
    {
        return Err(take_back(job, id, errors).await);
    }
    checked.confirm(resource).map_err(created_but(id))?;
    Ok(stored)
}

/// Deletes the new item and refuses the request, so that nothing of it is left.
async fn take_back(job: &InProject<'_>, id: Uuid, errors: Vec<FieldError>) -> Refusal {
    match job.delete(id, true).await {
        Ok(()) => {
            job.item_gone(id);
            // Otherwise the stored values would be the record of an item that v1 does not show.
            if let Err(fault) = job.runner.store.purge_item(job.card.id, id).await {
                tracing::warn!(item = %id, %fault, "values of an item that was taken back could not be removed");
            }
            Refusal::fields(errors)
        }
        Err(refusal) => {
            let undone = match is_certain(&refusal) {
                true => "it could not be deleted again",
                false => "it is not certain whether it was deleted again",
            };
            let detail = format!(
                "The work item was created with the id {id} although not everything could be stored ({}), and \
                 {undone}.",
                in_words(&errors)
            );
            Refusal::OutcomeUnknown { detail, cause: format!("taking {id} back: {refusal:?}"), timed_out: false }
        }
    }
}

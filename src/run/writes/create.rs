//! Creates a record of a plain resource. May use: what `run` may use.

use super::write::{created_but, refusable};
use super::{checks, one_flag};
use crate::plan::{Extra, Resource, WriteKind};
use crate::refusal::Refusal;
use crate::run::job::Job;
use crate::run::kept::shelf::Write;
use crate::run::members::{Members, as_id, id_of};
use crate::run::{Collection, rules};
use crate::store::OverlayValue;
use crate::translate::outgoing::{self, Outgoing};
use crate::translate::{confirm, refusal};
use crate::v1::V1Response;
use crate::v2::Reply;
use crate::v2::body::Given;
use serde_json::Value;
use std::sync::atomic::Ordering;
use uuid::Uuid;

/// Moves a value that v1 refuses into the overlay, if the write can be sent again without it; returns whether it did.
pub(in crate::run) type KeepRefused = fn(&Resource, &mut Outgoing, &V1Response) -> bool;

/// Validates the body, writes the record, reads it back, and stores the overlay.
pub(in crate::run) async fn create(job: &Job) -> Result<Reply, Refusal> {
    let (write, given) = begin(job).await?;
    create_given(job, write, given).await
}

/// Begins the write of a body that is valid and follows the declared rules.
pub(in crate::run) async fn begin(job: &Job) -> Result<(Write<'_, Collection>, Given), Refusal> {
    job.check_required_record().await?;
    let mut given = job.given()?;
    checks::references(job, &given, None).await?;
    checks::order_of_dates(job.resource(), &given, None)?;
    // The body is checked before the features of the project (O2).
    rules::check_feature(job)?;
    let mut write = job.begin_write().await?;
    rules::against_others(job, &mut write, &mut given).await?;
    Ok((write, given))
}

/// Writes the record, for members that are already checked.
pub(in crate::run) async fn create_given(
    job: &Job,
    write: Write<'_, Collection>,
    given: Given,
) -> Result<Reply, Refusal> {
    let resource = job.resource();
    let mut outgoing = outgoing::create(resource, &given);
    let _room = job.room_for(&[(Extra::RefusedValue, repeats(resource, &outgoing.body))], 0).await?;
    let answer = post(job, &mut outgoing, keep_refused).await?;
    let id = id_of(&answer)?;
    let failed = created_but(id);
    let v1 = if outgoing.after_create.is_empty() {
        job.read_created(id, "").await.map_err(&failed)?
    } else {
        // v1 ignores these fields in a create (trap 22); the answer to the PATCH is the stored record.
        job.patch(id, &outgoing.after_create).await.map_err(&failed)?
    };
    confirm::check(resource, &outgoing.body, &v1).confirm(resource).map_err(&failed)?;
    job.keep(id, &outgoing, &v1).await.map_err(&failed)?;
    finish(job, write, &v1).await.map_err(failed)
}

/// Translates the stored record, adds it to the cache, and answers with it.
pub(in crate::run) async fn finish(
    job: &Job,
    write: Write<'_, Collection>,
    v1: &Members,
) -> Result<Reply, Refusal> {
    let resource = job.resource();
    let held = job.translate_written(v1).await?;
    if let Some(rule) = &resource.exclusive {
        return Box::pin(one_flag::finish(job, write, rule, held)).await;
    }
    let reply = job.record_reply(held.record.json.clone());
    write.finish(|before| before.with(std::slice::from_ref(&held)));
    Ok(reply)
}

/// Sends the POST. A value that v1 refuses although v2 allows it goes to the overlay, and the POST is sent again
/// without it (a 400 of v1 has stored nothing). When an earlier attempt has made the record, nothing is sent, and
/// values that v1 can have refused and does not show go to the overlay.
pub(in crate::run) async fn post(
    job: &Job,
    outgoing: &mut Outgoing,
    keep: KeepRefused,
) -> Result<Members, Refusal> {
    if let Some(id) = job.half_made {
        // A later refusal must not say that nothing was done.
        job.touched.store(true, Ordering::SeqCst);
        let v1 = job.read_record(id).await?;
        let lacking = refusable(job.resource(), &outgoing.body);
        let lacking = lacking.filter(|(_, key)| v1.get(*key).is_some_and(Value::is_null));
        let lacking: Vec<_> = lacking.map(|(name, key)| (name.to_owned(), key.to_owned())).collect();
        for (name, key) in lacking {
            move_to_overlay(outgoing, name, &key);
        }
        let is_unchanged = is_as_left(job, id, outgoing, &v1).await?;
        return if is_unchanged { Ok(v1) } else { Err(may_be_the_result(id)) };
    }
    let answer = job.post_raw(&outgoing.body).await?;
    if keep(job.resource(), outgoing, &answer) {
        job.noted.refused.store(true, Ordering::SeqCst);
        return job.post(&outgoing.body).await;
    }
    job.accept(WriteKind::Create, &outgoing.body, answer).await
}

/// Checks whether the record `v1` is as an interrupted create leaves it: it shows all that the POST sends, and nobody
/// has changed it since. v1 notes who changed a record last (`labels_patch_name`), and nobody in a new one. The create
/// itself may have carried out a part of its later steps.
async fn is_as_left(job: &Job, id: Uuid, outgoing: &Outgoing, v1: &Members) -> Result<bool, Refusal> {
    let resource = job.resource();
    let posted = confirm::check(resource, &outgoing.body, v1);
    let later = confirm::check(resource, &outgoing.after_create, v1);
    let is_unset = |key: &String| v1.get(key).is_some_and(Value::is_null);
    let has_begun = !later.kept.is_empty()
        && outgoing.after_create.keys().all(|key| {
            let name = resource.field_of_v1(key).map(|field| field.name.as_str());
            is_unset(key) || name.is_some_and(|name| later.kept.contains(&name))
        });
    let is_unchanged = match v1.get("updated_by") {
        Some(Value::Null) => true,
        Some(by) => has_begun && as_id(by) == Some(job.call.caller.user.id),
        None => false,
    };
    let kept = job.runner.store.overlay_of_records(job.workspace_id().await?, &resource.name, &[id]).await?;
    let is_another =
        |kept: &OverlayValue| outgoing.overlay.get(&kept.field).is_some_and(|sent| *sent != kept.value);
    let is_posted = posted.lost.is_empty() && posted.missing.is_empty();
    Ok(is_posted && is_unchanged && !kept.values().flatten().any(is_another))
}

/// Returns the refusal of a create whose earlier attempt may have made the record `id`, which cannot be proven.
pub(super) fn may_be_the_result(id: Uuid) -> Refusal {
    let what = format!(
        "An earlier request with this Idempotency-Key ended without an answer. The record with the id {id} may be its \
         result, but it lacks a part of what was sent, and nothing proves that only the request can have left it so; \
         nothing was done now."
    );
    Refusal::outcome_unknown(what, format!("the record {id} does not show what was sent"), false)
}

/// Returns how often a write may have to be sent again because v1 refuses a field.
pub(in crate::run) fn repeats(resource: &Resource, sent: &Members) -> usize {
    usize::from(refusable(resource, sent).next().is_some())
}

/// Moves the only field that v1 refuses into the overlay, if it can hold the value; returns whether it did.
pub(in crate::run) fn keep_refused(resource: &Resource, outgoing: &mut Outgoing, answer: &V1Response) -> bool {
    let refused = refusable(resource, &outgoing.body).find(|(_, key)| refusal::is_only_about(answer, key));
    let Some((name, key)) = refused.map(|(name, key)| (name.to_owned(), key.to_owned())) else { return false };
    move_to_overlay(outgoing, name, &key);
    true
}

fn move_to_overlay(outgoing: &mut Outgoing, name: String, key: &str) {
    let value = outgoing.body.shift_remove(key).unwrap_or(Value::Null);
    outgoing.overlay.insert(name, value);
}

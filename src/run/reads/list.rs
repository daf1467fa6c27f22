//! Reads: a page of a collection, or one record of it. May use: what `run` may use.

use crate::boxed::boxed;
use crate::fresh::Kept;
use crate::plan::{ReadOneBy, Resource};
use crate::refusal::Refusal;
use crate::run::job::Job;
use crate::run::kept::collection::Collection;
use crate::run::rules;
use crate::run::writes::write::same_record;
use crate::translate::Held;
use crate::units::now_micros;
use crate::v1::V1Request;
use crate::v2::page::Filter;
use crate::v2::query::{Condition, ListCall, Test};
use crate::v2::{Reply, query};
use std::sync::Arc;
use std::time::Instant;
use uuid::Uuid;

/// Reads the complete collection; filters, orders and pages it here, because v1 cannot do it (traps 47, 48).
pub(in crate::run) async fn list(job: &Job) -> Result<Reply, Refusal> {
    match job.ready_page() {
        Some(reply) => job.check_required_record().await.map(|()| reply),
        None => boxed(|| make_page(job)).await,
    }
}

/// Builds a page that is not cached.
async fn make_page(job: &Job) -> Result<Reply, Refusal> {
    let call = match job.list_call() {
        Ok(call) => call,
        // A missing required record is reported before a bad query (O2); then the list itself is not worth a call.
        Err(refusal) => return Err(job.check_required_record().await.err().unwrap_or(refusal)),
    };
    let (required, loaded) = tokio::join!(job.check_required_record(), job.load(job.resource()));
    required?;
    let loaded = loaded?;
    if loaded.value.rows().is_empty() {
        prove_without_a_read(job, loaded.began.at).await?;
    }
    let mut all = loaded.value;
    if job.call.ctx.meter.is_stale() && is_look_up(job.resource(), &call) && !has_any(&all, &call) {
        // Older data do not prove that there is no such record, and a client may create it on this answer.
        all = job.load_since(job.resource(), Instant::now()).await?.value;
    }
    job.page_of(all, call).await
}

/// Checks whether the list is asked for the record with an external pair, as an import does before it creates one.
fn is_look_up(resource: &Resource, call: &ListCall) -> bool {
    let is_asked = |name: &str| {
        let names = |condition: &Condition| resource.fields[resource.cells[condition.cell]].name == name;
        call.conditions.iter().any(|condition| names(condition) && matches!(condition.test, Test::AnyOf(_)))
    };
    is_asked("external_id") && is_asked("external_source")
}

fn has_any(all: &Collection, call: &ListCall) -> bool {
    let filter = Filter::of(call);
    all.rows().iter().any(|held| filter.passes(&held.record))
}

/// Proves an empty list of `read_at` when a row of the index stands for the required record. v1 shows no items of an
/// archived project, and an empty list for it (trap 58, `projects_archived_comments`), but the row may be older.
async fn prove_without_a_read(job: &Job, read_at: Instant) -> Result<(), Refusal> {
    match (job.in_project(), job.required_item()) {
        (Some(within), Some(id)) if within.item_in_fresh_index(id).is_some() => {
            Box::pin(within.prove_empty(read_at)).await
        }
        _ => Ok(()),
    }
}

pub(in crate::run) async fn one(job: &Job) -> Result<Reply, Refusal> {
    let held = read_addressed_record(job).await?;
    query::read_single(job.operation(), &job.call.parameters)?;
    Ok(job.record_reply(held.record.json.clone()))
}

/// Reads the record that the path names, and in parallel the record that it requires.
pub(in crate::run) async fn read_addressed_record(job: &Job) -> Result<Arc<Held>, Refusal> {
    let (required, held) = tokio::join!(job.check_required_record(), read(job));
    required?;
    held
}

/// Like [`read_addressed_record`], for a write that has the list `kept` in hand: the list is dropped when it shows a
/// record that is not there any more.
pub(in crate::run) async fn read_to_write(
    job: &Job,
    kept: Option<Kept<Arc<Collection>>>,
) -> Result<Arc<Held>, Refusal> {
    let read = read_addressed_record(job).await;
    if let Err(Refusal::NotFound { .. }) = read {
        let id = job.pk()?;
        if kept.is_some_and(|kept| kept.value.get(id).is_some()) {
            job.drop_kept();
        }
    }
    read
}

async fn read(job: &Job) -> Result<Arc<Held>, Refusal> {
    let (resource, id) = (job.resource(), job.pk()?);
    let v1 = resource.v1.as_ref().ok_or_else(|| Refusal::internal("a read without v1"))?;
    if v1.one == ReadOneBy::Record {
        return boxed(|| read_alone(job, id)).await.map(Arc::new);
    }
    if let Some(held) = find(job, resource, id).await? {
        return Ok(held);
    }
    let further = boxed(|| job.find_further(id)).await?;
    further.map(Arc::new).ok_or_else(Refusal::not_found)
}

/// Reads the record at its own path, as it is now.
async fn read_alone(job: &Job, id: Uuid) -> Result<Held, Refusal> {
    let path = job.record_path(job.resource(), id)?;
    let began = now_micros();
    let answer = job.ask_record(V1Request::get(path, ""), id).await;
    let answer = job.explain_refused_read(answer).await?;
    match answer.status {
        200 => {
            let (held, outdated) = job.translate_with_overlay(&answer.body).await?;
            same_record(held.record.id, id)?;
            rules::check_place(job.resource(), &job.call.variables, &held)?;
            job.remove_outdated(id, outdated, began).await;
            Ok(held)
        }
        // Also for a comment of another work item (`comments_get_through_other_item`).
        404 => {
            job.doubt_kept(id);
            Err(Refusal::not_found())
        }
        403 => Err(job.after_refused_read(Refusal::not_found()).await),
        status => Err(Refusal::upstream("The record could not be read.", format!("status {status}"))),
    }
}

/// Returns the record `id`, from the cache or, if missing there, from a fresh read: a cache never proves "not
/// found".
pub(in crate::run) async fn find(job: &Job, resource: &Resource, id: Uuid) -> Result<Option<Arc<Held>>, Refusal> {
    let all = load_with(job, resource, |all| all.get(id).is_some()).await?;
    Ok(all.get(id).cloned())
}

/// Returns the collection; reads it again when the cached one does not satisfy `complete`.
pub(in crate::run) async fn load_with(
    job: &Job,
    resource: &Resource,
    complete: impl Fn(&Collection) -> bool,
) -> Result<Arc<Collection>, Refusal> {
    let asked = Instant::now();
    let loaded = job.load(resource).await?;
    if loaded.began.at >= asked || complete(&loaded.value) {
        return Ok(loaded.value);
    }
    Ok(job.load_since(resource, asked).await?.value)
}

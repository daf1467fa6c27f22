//! Updates a record of a plain resource. May use: what `run` may use.

use super::checks;
use super::create::{KeepRefused, finish, keep_refused};
use crate::plan::WriteKind;
use crate::refusal::Refusal;
use crate::run::job::Job;
use crate::run::kept::shelf::Write;
use crate::run::members::Members;
use crate::run::{Collection, rules};
use crate::translate::Held;
use crate::translate::outgoing::{self, Outgoing};
use crate::v2::Reply;
use crate::v2::body::Given;
use std::sync::Arc;
use uuid::Uuid;

/// Finds the record, validates the body, writes and compares the record, and stores the overlay.
pub(in crate::run) async fn update(job: &Job) -> Result<Reply, Refusal> {
    let (write, stored, given) = begin_valid(job).await?;
    update_given(job, write, &stored, &given).await
}

/// Begins the write of a valid body that follows the declared rules, to an existing record.
pub(in crate::run) async fn begin_valid(job: &Job) -> Result<(Write<'_, Collection>, Arc<Held>, Given), Refusal> {
    job.check_required_record().await?;
    let (resource, (mut write, mut stored)) = (job.resource(), begin(job).await?);
    rules::check_may_write(job, &stored).await?;
    let given = job.given()?;
    checks::references(job, &given, Some(stored.record.id)).await?;
    let unique = rules::names_unique(resource, &given);
    let flagged =
        resource.exclusive.as_ref().is_some_and(|rule| given.contains_key(&resource.fields[rule.field].name));
    // The values of other records, or unsent values of this record, must be known as of now.
    if unique || flagged || checks::needs_stored_dates(resource, &given) {
        stored = refresh(job, &mut write, stored.record.id).await?;
    }
    if let Some(all) = write.before() {
        rules::check_unique(resource, &all.value, &given, Some(stored.record.id))?;
    }
    Ok((write, stored, given))
}

/// Writes the record, for members that are already checked.
pub(in crate::run) async fn update_given(
    job: &Job,
    write: Write<'_, Collection>,
    stored: &Held,
    given: &Given,
) -> Result<Reply, Refusal> {
    let (resource, id) = (job.resource(), stored.record.id);
    checks::order_of_dates(resource, given, Some(&stored.v2_members()))?;
    let is_listed = write.before().is_some_and(|kept| kept.value.get(id).is_some());
    let mut outgoing = outgoing::update(resource, given);
    let mut v1 = stored.v1_members();
    if !outgoing.body.is_empty() {
        let answer = patch(job, id, &mut outgoing, keep_refused).await?;
        v1 = job.merge_or_reread(id, &v1, &outgoing.body, &answer).await?;
    }
    job.keep(id, &outgoing, &v1).await?;
    if is_listed {
        return finish(job, write, &v1).await;
    }
    // An archived record stays outside the list of the live ones.
    let held = job.translate_written(&v1).await?;
    write.finish(|before| before.with(&[]));
    Ok(job.record_reply(held.record.json))
}

/// Begins the write and finds the addressed record: in the cache, or with a fresh read.
pub(in crate::run) async fn begin(job: &Job) -> Result<(Write<'_, Collection>, Arc<Held>), Refusal> {
    let mut write = job.begin_write().await?;
    let kept = write.before().and_then(|kept| kept.value.get(job.pk().ok()?).cloned());
    let stored = match kept {
        Some(held) => held,
        None => refresh(job, &mut write, job.pk()?).await?,
    };
    Ok((write, stored))
}

/// Reads the collection again during a write; returns its record `id`. A record that is only in a further list exists
/// too, and v1 itself refuses to change it (`modules_archived_patch`).
pub(in crate::run) async fn refresh(
    job: &Job,
    write: &mut Write<'_, Collection>,
    id: Uuid,
) -> Result<Arc<Held>, Refusal> {
    let loaded = job.load(job.resource()).await?;
    write.found(&loaded);
    if let Some(held) = loaded.value.get(id) {
        return Ok(Arc::clone(held));
    }
    Box::pin(job.find_further(id)).await?.map(Arc::new).ok_or_else(Refusal::not_found)
}

/// Sends the PATCH; as with a create, a value that only v1 refuses goes to the overlay.
pub(in crate::run) async fn patch(
    job: &Job,
    id: Uuid,
    outgoing: &mut Outgoing,
    keep: KeepRefused,
) -> Result<Members, Refusal> {
    let answer = job.patch_raw(id, &outgoing.body).await?;
    if keep(job.resource(), outgoing, &answer) {
        if outgoing.body.is_empty() {
            return Ok(Members::new());
        }
        return job.patch(id, &outgoing.body).await;
    }
    job.accept(WriteKind::Update, &outgoing.body, answer).await
}

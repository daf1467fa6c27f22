//! The five verbs of the own store, written once for all its records: list, show, create, update, delete.
//!
//! [`Records`] contains the differences between the kinds of records; each kind has its own file. Each write checks
//! twice whether it is allowed: before the check of its body, so that 404 comes before 400 (O2), and inside the
//! transaction, because the record may be gone by then.
//!
//! May use: what `run` may use.

use super::call::{OwnCall, Surface};
use super::lists::Row;
use crate::catalogue::{Catalogue, Edit};
use crate::plan::Step;
use crate::refusal::Refusal;
use crate::v2::Reply;
use crate::v2::body::Given;
use serde_json::{Map, Value};
use std::collections::HashSet;
use uuid::Uuid;

pub(super) struct CheckedBody {
    /// The body, valid by its declaration.
    pub(super) given: Given,
    /// Projects that the body names and the caller sees.
    pub(super) projects: HashSet<Uuid>,
}

/// The differences between the kinds of records. A verb that a kind does not have is refused when the mappings are
/// compiled ([`crate::plan::OwnRecords::has`]).
pub(super) trait Records: 'static {
    /// Returns the record above the addressed ones, which the caller's surface must show; none at the top level.
    fn above(_: &OwnCall<'_>) -> Result<Option<Uuid>, Refusal> {
        Ok(None)
    }

    /// Returns all records of a list, as `surface` shows them.
    fn rows(surface: Surface, catalogue: &Catalogue, above: Option<Uuid>) -> Vec<Row>;

    /// Returns the addressed record, as readers see it.
    fn shown(call: &OwnCall<'_>) -> Result<Map<String, Value>, Refusal>;

    /// Returns a record that was just written.
    fn written(call: &OwnCall<'_>, catalogue: &Catalogue, id: Uuid) -> Result<Map<String, Value>, Refusal>;

    /// Checks that this surface may write the record `id`, or create one.
    fn check_may_write(call: &OwnCall<'_>, catalogue: &Catalogue, id: Option<Uuid>) -> Result<(), Refusal>;

    /// Reads the body of a create or an update.
    async fn sent(call: &OwnCall<'_>) -> Result<CheckedBody, Refusal> {
        Ok(CheckedBody { given: call.job.given()?, projects: HashSet::new() })
    }

    /// Creates a record and returns its id.
    fn create(call: &OwnCall<'_>, edit: &mut Edit, sent: &CheckedBody) -> Result<Uuid, Refusal>;

    fn update(call: &OwnCall<'_>, edit: &mut Edit, id: Uuid, sent: &CheckedBody) -> Result<(), Refusal>;

    fn delete(call: &OwnCall<'_>, edit: &mut Edit, id: Uuid) -> Result<(), Refusal>;

    fn created(call: &OwnCall<'_>, catalogue: &Catalogue, id: Uuid) -> Result<Reply, Refusal> {
        Ok(call.reply(Self::written(call, catalogue, id)?))
    }

    /// Adds details to the refusal of a delete by a rule.
    async fn not_deleted(_: &OwnCall<'_>, _: Uuid, refusal: Refusal) -> Refusal {
        refusal
    }
}

/// Carries out a step of the mapping language on records of the kind `R`.
pub(super) async fn run<R: Records>(step: Step, call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    match step {
        Step::ReadCollection => call.page(R::above(call)?, R::rows).await,
        Step::ReadOne => show::<R>(call),
        Step::Create => create::<R>(call).await,
        Step::Update => update::<R>(call).await,
        Step::Delete => delete::<R>(call).await,
        Step::Special(_) | Step::Pending => Err(Refusal::internal("not a verb of the own store")),
    }
}

/// Returns the addressed record; a precondition compares its version.
pub(super) fn show<R: Records>(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    call.read_reply(R::shown(call)?)
}

async fn create<R: Records>(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    R::check_may_write(call, &call.catalogue, None)?;
    let sent = R::sent(call).await?;
    let rules = call.edit(|edit| {
        R::check_may_write(call, &edit.after, None)?;
        R::create(call, edit, &sent)
    });
    let (id, after) = rules.await?;
    R::created(call, &after, id)
}

async fn update<R: Records>(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    let id = call.job.pk()?;
    R::check_may_write(call, &call.catalogue, Some(id))?;
    let sent = R::sent(call).await?;
    let rules = call.edit(|edit| {
        R::check_may_write(call, &edit.after, Some(id))?;
        R::update(call, edit, id, &sent)
    });
    let (_, after) = rules.await?;
    Ok(call.reply(R::written(call, &after, id)?))
}

async fn delete<R: Records>(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    let id = call.job.pk()?;
    let rules = call.edit(|edit| {
        R::check_may_write(call, &edit.after, Some(id))?;
        R::delete(call, edit, id)
    });
    match rules.await {
        Ok(_) => Ok(Reply::no_content()),
        Err(refusal) => Err(R::not_deleted(call, id, refusal).await),
    }
}

//! Resources that v1 does not have: types, properties, options, contexts and features of a workspace.
//!
//! The rules are in `catalogue`, the data in the store. This folder decides permissions, the mode, the order of
//! refusals (O2), and the shapes that clients see. A project's surface and the workspace's share every function: an
//! [`OwnCall`] knows its surface. Each resource has one file, or shares one with a resource that belongs to it.
//!
//! v1 does not report that a project was deleted: its card looks like the card of an invisible project. Only the answer
//! to the delete itself, which passes through the gateway, is proof.
//!
//! May use: what `run` may use.

mod attachments;
mod audit;
mod call;
mod contexts;
pub(super) mod kept_lists;
mod lists;
mod options;
mod properties;
mod schema;
mod types;
mod verbs;

use super::job::Job;
use crate::catalogue::shapes;
use crate::plan::{OwnRecords, Special, Step};
use crate::refusal::Refusal;
use crate::run::Runner;
use crate::run::audit::SYSTEM;
use crate::store::{AuditActor, Store};
use crate::v2::Reply;
use crate::v2::time::Micros;
use attachments::Attachments;
use call::OwnCall;
use contexts::Contexts;
use options::Options;
use properties::Properties;
use types::Types;
use uuid::Uuid;

/// Carries out a step of the mapping language on records of this kind.
pub(super) async fn run(records: OwnRecords, step: Step, job: &Job) -> Result<Reply, Refusal> {
    let call = begun(job).await?;
    match records {
        OwnRecords::Types => verbs::run::<Types>(step, &call).await,
        OwnRecords::Properties => verbs::run::<Properties>(step, &call).await,
        OwnRecords::Options => verbs::run::<Options>(step, &call).await,
        OwnRecords::Contexts => verbs::run::<Contexts>(step, &call).await,
        OwnRecords::Attachments => verbs::run::<Attachments>(step, &call).await,
        OwnRecords::Features if step == Step::Update => update_features(&call).await,
        OwnRecords::Features => features(&call),
    }
}

/// Carries out a verb on types that the mapping language does not have.
pub(super) async fn on_types(special: Special, job: &Job) -> Result<Reply, Refusal> {
    let call = begun(job).await?;
    match special {
        Special::TypesEnable => types::enable(&call).await,
        Special::TypesImport => types::import(&call).await,
        Special::TypesMarkDefault => types::mark_default(&call).await,
        Special::TypesSchema => schema::retrieve(&call).await,
        _ => Err(Refusal::internal("no verb on types")),
    }
}

/// Begins the call and checks its role, mode and precondition.
async fn begun(job: &Job) -> Result<OwnCall<'_>, Refusal> {
    let call = OwnCall::begin(job, shown).await?;
    if let Err(refusal) = call.job.check_role().await {
        if job.resource().records == Some(OwnRecords::Features) && matches!(refusal, Refusal::Forbidden { .. }) {
            record_refused(&call).await;
        }
        return Err(refusal);
    }
    call.check_mode(&call.catalogue)?;
    call.check_precondition(&call.catalogue)?;
    Ok(call)
}

/// Adds a refused change of features to the audit log. A caller who sees no project does not know the workspace's id,
/// and an entry under another id would never be found. The caller is refused whether this succeeds or not.
async fn record_refused(call: &OwnCall<'_>) {
    let job = call.job;
    let (caller, origin) = (&job.call.caller, &job.call.origin);
    let cause = if job.runner.access.is_stand_in(job.slug(), call.workspace) {
        "the caller sees no project of the workspace, so its id is not known".to_owned()
    } else {
        match job.runner.record_refused_features(caller, call.workspace, job.slug(), origin).await {
            Ok(()) => return,
            Err(fault) => fault.to_string(),
        }
    };
    tracing::warn!(workspace = job.slug(), cause, "a refused change of features is missing in the audit log");
}

/// Returns the addressed record, as defined in the catalogue of the call.
fn shown(records: OwnRecords, call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    match records {
        OwnRecords::Types => verbs::show::<Types>(call),
        OwnRecords::Properties => verbs::show::<Properties>(call),
        OwnRecords::Options => verbs::show::<Options>(call),
        OwnRecords::Contexts => verbs::show::<Contexts>(call),
        OwnRecords::Attachments => verbs::show::<Attachments>(call),
        OwnRecords::Features => features(call),
    }
}

/// Returns the features record of the workspace, which is the only one (16.2).
fn features(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    call.read_reply(shapes::features(&call.catalogue.features))
}

async fn update_features(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    let given = call.job.given()?;
    let (_, after) = call.edit(|edit| edit.update_features(&given)).await?;
    Ok(call.reply(shapes::features(&after.features)))
}

impl Runner {
    /// Handles a project that v1 has deleted. It is removed from contexts (O84), and its own definitions are deleted.
    /// All data stored for its work items count as missing from now on, so that a sweep can remove them.
    pub async fn project_deleted(&self, project: Uuid) -> Result<(), Refusal> {
        forget_project(&self.store, project).await
    }

    /// Handles a record of the project that v1 has deleted. When it is a work item, all data stored for it count as
    /// missing from now on, so that a sweep can remove them.
    pub async fn record_deleted(&self, project: Uuid, record: Uuid) -> Result<(), Refusal> {
        if self.store.project_items(project).await?.knows(record) {
            self.store.mark_missing(project, &[record], &[], Micros::MAX).await?;
        }
        Ok(())
    }
}

/// Removes the definitions of a project that v1 has deleted, and references to it; see [`Runner::project_deleted`].
pub async fn forget_project(store: &Store, project: Uuid) -> Result<(), Refusal> {
    for workspace in store.workspaces_naming(project).await? {
        let forgotten = store.edit(workspace, |edit| {
            let before = edit.after.clone();
            edit.forget_project(project);
            // No person requested it: it follows from a delete at v1.
            let nobody = AuditActor { kind: SYSTEM, ..AuditActor::default() };
            Ok(((), audit::definitions(nobody, &before, &edit.after)))
        });
        forgotten.await?;
    }
    Ok(store.miss_project(project).await?)
}

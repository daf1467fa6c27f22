//! What v1 does not have: types, properties, options, contexts and features of a workspace.
//!
//! The rules are `catalogue`'s, the data is the store's; this folder says who may, in which mode, in which order things
//! are refused (O2), and what clients see. A project's surface and the workspace's share every function: an [`OwnCall`]
//! knows which one it is on. One file a resource, or two that go together.
//!
//! v1 tells nobody that a project was deleted: its card looks like that of a project one may not see. Only the answer
//! to the delete itself, which comes by on the pass-through, is proof.
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

use super::audit::features_refused;
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

/// Carries out a step of the language on records of this kind.
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

/// Carries out a verb on types that the language does not have.
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

/// The call, after its role, mode and precondition were found right.
async fn begun(job: &Job) -> Result<OwnCall<'_>, Refusal> {
    let call = OwnCall::begin(job, shown).await?;
    if let Err(refusal) = call.job.hold_role().await {
        if job.resource().records == Some(OwnRecords::Features) && matches!(refusal, Refusal::Forbidden { .. }) {
            let entry = features_refused(job.actor(), call.workspace, job.slug());
            job.runner.store.record(call.workspace, &[entry]).await?;
        }
        return Err(refusal);
    }
    call.check_mode(&call.catalogue)?;
    call.hold_precondition(&call.catalogue)?;
    Ok(call)
}

/// The addressed record, as the definitions of the call have it.
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

/// The one features record of the workspace (16.2).
fn features(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    call.read_reply(shapes::features(&call.catalogue.features))
}

async fn update_features(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    let given = call.job.given()?;
    let (_, after) = call.edit(|edit| edit.update_features(&given)).await?;
    Ok(call.reply(shapes::features(&after.features)))
}

impl Runner {
    /// v1 has deleted the project. Contexts forget it (O84), and its own definitions go; everything recorded on its work
    /// items counts as missing from now on, so that a sweep can take it.
    pub async fn project_deleted(&self, project: Uuid) -> Result<(), Refusal> {
        forget_project(&self.store, project).await
    }

    /// v1 has deleted a record of the project. When it is a work item, everything kept of it counts as missing from now
    /// on, so that a sweep can take it.
    pub async fn record_deleted(&self, project: Uuid, record: Uuid) -> Result<(), Refusal> {
        if self.store.project_items(project).await?.knows(record) {
            self.store.mark_missing(project, &[record], &[], Micros::MAX).await?;
        }
        Ok(())
    }
}

/// Takes away what a project that v1 has deleted has defined, and what names it; see [`Runner::project_deleted`].
pub async fn forget_project(store: &Store, project: Uuid) -> Result<(), Refusal> {
    for workspace in store.workspaces_naming(project).await? {
        let forgotten = store.edit(workspace, |edit| {
            let before = edit.after.clone();
            edit.forget_project(project);
            // Nobody asked for it: it follows from what somebody did at v1.
            let nobody = AuditActor { kind: SYSTEM, ..AuditActor::default() };
            Ok(((), audit::definitions(nobody, &before, &edit.after)))
        });
        forgotten.await?;
    }
    Ok(store.miss_project(project).await?)
}

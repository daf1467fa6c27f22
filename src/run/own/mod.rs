//! What v1 does not have: types, properties, options, contexts and features of a workspace.
//!
//! The rules are `catalogue`'s, the data is the store's; this folder says who may, in which mode, in which order things
//! are refused (O2), and what clients see. A project's surface and the workspace's share every function: an [`OwnCall`]
//! knows which one it is on. One file a resource.
//!
//! May use: what `run` may use.

mod attachments;
mod audit;
mod call;
mod contexts;
mod deleted_project;
pub(super) mod kept_lists;
mod lists;
mod options;
mod properties;
mod schema;
mod types;
mod verbs;

pub use deleted_project::forget_project;

use super::audit::features_refused;
use super::job::Job;
use crate::catalogue::shapes;
use crate::plan::{OwnRecords, Special, Step};
use crate::refusal::Refusal;
use crate::v2::Reply;
use attachments::Attachments;
use call::OwnCall;
use contexts::Contexts;
use options::Options;
use properties::Properties;
use types::Types;

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

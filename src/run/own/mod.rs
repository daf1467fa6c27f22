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
mod features;
pub(super) mod kept_lists;
mod lists;
mod options;
mod projects;
mod properties;
mod schema;
mod types;
mod verbs;

pub use deleted_project::forget_project;

use super::in_project::InProject;
use super::job::Job;
use crate::plan::{OwnRecords, Step};
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
        OwnRecords::Features if step == Step::Update => features::update(&call).await,
        OwnRecords::Features => features::retrieve(&call),
    }
}

/// Turns types on in a project.
pub(super) async fn enable_types(job: &Job) -> Result<Reply, Refusal> {
    types::enable(&begun(job).await?).await
}

/// Makes types of the workspace available in a project.
pub(super) async fn import_types(job: &Job) -> Result<Reply, Refusal> {
    types::import(&begun(job).await?).await
}

/// Moves the flag of the default type.
pub(super) async fn mark_default_type(job: &Job) -> Result<Reply, Refusal> {
    types::mark_default(&begun(job).await?).await
}

/// Describes the fields of a type.
pub(super) async fn type_schema(job: &InProject<'_>) -> Result<Reply, Refusal> {
    schema::retrieve(&begun(job).await?, job).await
}

/// The call, after its role, mode and precondition were found right.
async fn begun(job: &Job) -> Result<OwnCall<'_>, Refusal> {
    let call = OwnCall::begin(job, shown).await?;
    if let Err(refusal) = call.job.hold_role().await {
        if job.resource().records == Some(OwnRecords::Features) {
            features::record_refusal(&call, &refusal).await?;
        }
        return Err(refusal);
    }
    call.check_mode(call.catalogue())?;
    call.hold_precondition(call.catalogue())?;
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
        OwnRecords::Features => features::retrieve(call),
    }
}

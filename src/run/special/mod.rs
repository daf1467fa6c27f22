//! What the mapping language cannot say: one named function a file, each with its v1 calls declared in the
//! mapping that names it.

mod audit_log;
mod audit_logs_list;
mod audit_logs_retrieve;
mod comment_create;
mod comment_update;
mod current_user;
mod cycle_create;
mod cycle_update;
mod project_members;
mod workspace_members;

use super::items::steps;
use super::job::Job;
use super::own;
use crate::plan::Special;
use crate::refusal::Refusal;
use crate::v2::Reply;

/// Runs one of them.
pub(super) async fn run(special: Special, job: &Job) -> Result<Reply, Refusal> {
    // The mappings are refused when such a step is not on a path inside a project.
    let within = || job.in_project().ok_or_else(|| Refusal::internal("a step of projects outside of one"));
    match special {
        Special::AuditLogsList => audit_logs_list::run(job).await,
        Special::AuditLogsRetrieve => audit_logs_retrieve::run(job).await,
        Special::CommentCreate => comment_create::run(&within()?).await,
        Special::CommentUpdate => comment_update::run(&within()?).await,
        Special::CurrentUser => current_user::run(job),
        Special::CycleCreate => cycle_create::run(&within()?).await,
        Special::CycleUpdate => cycle_update::run(&within()?).await,
        Special::ProjectMembers => project_members::run(&within()?).await,
        Special::TypesEnable => own::enable_types(job).await,
        Special::TypesImport => own::import_types(job).await,
        Special::TypesMarkDefault => own::mark_default_type(job).await,
        Special::TypesSchema => own::type_schema(&within()?).await,
        Special::WorkItemArchive => steps::archive::run(&within()?).await,
        Special::WorkItemCreate => steps::create::run(&within()?).await,
        Special::WorkItemDelete => steps::delete::run(&within()?).await,
        Special::WorkItemLookup => steps::lookup::run(job).await,
        Special::WorkItemRetrieve => steps::retrieve::run(&within()?).await,
        Special::WorkItemUnarchive => steps::unarchive::run(&within()?).await,
        Special::WorkItemUpdate => steps::update::run(&within()?).await,
        Special::WorkItemsList => steps::list::run(&within()?).await,
        Special::WorkspaceMembers => workspace_members::run(job).await,
    }
}

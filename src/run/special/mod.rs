//! Steps that the mapping language cannot express: one named function in each file. Its v1 calls are declared in the
//! mapping that names it. May use: what `run` may use.

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

/// Runs a named function. Each is boxed, so that a request takes the memory of its own step and not of the largest one.
pub(super) async fn run(special: Special, job: &Job) -> Result<Reply, Refusal> {
    // Mappings with such a step on a path outside of a project are refused.
    let within = || job.in_project().ok_or_else(|| Refusal::internal("a step of projects outside of one"));
    match special {
        Special::AuditLogsList => Box::pin(audit_logs_list::run(job)).await,
        Special::AuditLogsRetrieve => Box::pin(audit_logs_retrieve::run(job)).await,
        Special::CommentCreate => Box::pin(comment_create::run(&within()?)).await,
        Special::CommentUpdate => Box::pin(comment_update::run(&within()?)).await,
        Special::CurrentUser => current_user::run(job),
        Special::CycleCreate => Box::pin(cycle_create::run(&within()?)).await,
        Special::CycleUpdate => Box::pin(cycle_update::run(&within()?)).await,
        Special::ProjectMembers => Box::pin(project_members::run(&within()?)).await,
        Special::TypesEnable | Special::TypesImport | Special::TypesMarkDefault | Special::TypesSchema => {
            Box::pin(own::on_types(special, job)).await
        }
        Special::WorkItemArchive => Box::pin(steps::archive::run(&within()?)).await,
        Special::WorkItemCreate => Box::pin(steps::create::run(&within()?)).await,
        Special::WorkItemDelete => Box::pin(steps::delete::run(&within()?)).await,
        Special::WorkItemLookup => Box::pin(steps::lookup::run(job)).await,
        Special::WorkItemRetrieve => Box::pin(steps::retrieve::run(&within()?)).await,
        Special::WorkItemUnarchive => Box::pin(steps::archive::unarchive_item(&within()?)).await,
        Special::WorkItemUpdate => Box::pin(steps::update::run(&within()?)).await,
        Special::WorkItemsList => Box::pin(steps::list::run(&within()?)).await,
        Special::WorkspaceMembers => Box::pin(workspace_members::run(job)).await,
    }
}

//! What the mapping language cannot say: one named function a file, each with its v1 calls declared in the
//! mapping that names it.

mod audit_log;
mod audit_logs_list;
mod audit_logs_retrieve;
mod comment;
mod comment_create;
mod comment_delete;
mod comment_retrieve;
mod comment_update;
mod comments_list;
mod current_user;
mod cycle_create;
mod cycle_update;
mod label_delete;
mod module_create;
mod module_retrieve;
mod project_members;
mod state_create;
mod state_default;
mod state_update;
mod workspace_members;

use super::items::steps;
use super::job::Job;
use super::own;
use crate::plan::Special;
use crate::refusal::Refusal;
use crate::v2::Reply;

/// Runs one of them.
pub(super) async fn run(special: Special, job: &Job) -> Result<Reply, Refusal> {
    match special {
        Special::AuditLogsList => audit_logs_list::run(job).await,
        Special::AuditLogsRetrieve => audit_logs_retrieve::run(job).await,
        Special::CommentCreate => comment_create::run(job).await,
        Special::CommentDelete => comment_delete::run(job).await,
        Special::CommentRetrieve => comment_retrieve::run(job).await,
        Special::CommentUpdate => comment_update::run(job).await,
        Special::CommentsList => comments_list::run(job).await,
        Special::CurrentUser => current_user::run(job),
        Special::CycleCreate => cycle_create::run(job).await,
        Special::CycleUpdate => cycle_update::run(job).await,
        Special::LabelDelete => label_delete::run(job).await,
        Special::ModuleCreate => module_create::run(job).await,
        Special::ModuleRetrieve => module_retrieve::run(job).await,
        Special::ProjectMembers => project_members::run(job).await,
        Special::StateCreate => state_create::run(job).await,
        Special::StateUpdate => state_update::run(job).await,
        Special::TypesEnable => own::enable_types(job).await,
        Special::TypesImport => own::import_types(job).await,
        Special::TypesMarkDefault => own::mark_default_type(job).await,
        Special::TypesSchema => own::type_schema(job).await,
        Special::WorkItemArchive => steps::archive::run(job).await,
        Special::WorkItemCreate => steps::create::run(job).await,
        Special::WorkItemDelete => steps::delete::run(job).await,
        Special::WorkItemLookup => steps::lookup::run(job).await,
        Special::WorkItemRetrieve => steps::retrieve::run(job).await,
        Special::WorkItemUnarchive => steps::unarchive::run(job).await,
        Special::WorkItemUpdate => steps::update::run(job).await,
        Special::WorkItemsList => steps::list::run(job).await,
        Special::WorkspaceMembers => workspace_members::run(job).await,
    }
}

//! What the mapping language cannot say: named functions, each with its v1 calls declared in the
//! mapping that names it. May use: what `run` may use.

mod audit_logs;
mod comments;
mod cycles;
mod people;

use super::items::steps;
use super::job::Job;
use super::own;
use crate::plan::Special;
use crate::refusal::Refusal;
use crate::v2::Reply;

/// Runs one of them. Each is boxed, so that a request takes the room of its own step and not of the largest.
pub(super) async fn run(special: Special, job: &Job) -> Result<Reply, Refusal> {
    // The mappings are refused when such a step is not on a path inside a project.
    let within = || job.in_project().ok_or_else(|| Refusal::internal("a step of projects outside of one"));
    match special {
        Special::AuditLogsList => Box::pin(audit_logs::list(job)).await,
        Special::AuditLogsRetrieve => Box::pin(audit_logs::retrieve(job)).await,
        Special::CommentCreate => Box::pin(comments::create(&within()?)).await,
        Special::CommentUpdate => Box::pin(comments::update(&within()?)).await,
        Special::CurrentUser => people::current_user(job),
        Special::CycleCreate => Box::pin(cycles::create(&within()?)).await,
        Special::CycleUpdate => Box::pin(cycles::update(&within()?)).await,
        Special::ProjectMembers => Box::pin(people::of_project(&within()?)).await,
        Special::TypesEnable | Special::TypesImport | Special::TypesMarkDefault | Special::TypesSchema => {
            Box::pin(own::on_types(special, job)).await
        }
        Special::WorkItemArchive => Box::pin(steps::archive::run(&within()?)).await,
        Special::WorkItemCreate => Box::pin(steps::create::run(&within()?)).await,
        Special::WorkItemDelete => Box::pin(steps::delete::run(&within()?)).await,
        Special::WorkItemLookup => Box::pin(steps::lookup::look_up(job)).await,
        Special::WorkItemRetrieve => Box::pin(steps::lookup::retrieve(&within()?)).await,
        Special::WorkItemUnarchive => Box::pin(steps::archive::bring_back(&within()?)).await,
        Special::WorkItemUpdate => Box::pin(steps::update::run(&within()?)).await,
        Special::WorkItemsList => Box::pin(steps::list::run(&within()?)).await,
        Special::WorkspaceMembers => Box::pin(people::of_workspace(job)).await,
    }
}

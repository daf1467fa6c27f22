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
mod work_item_archive;
mod work_item_create;
mod work_item_delete;
mod work_item_lookup;
mod work_item_retrieve;
mod work_item_unarchive;
mod work_item_update;
mod work_items_list;
mod workspace_members;

use super::job::Job;
use crate::refusal::Refusal;
use crate::v2::Reply;

/// Names mappings may use; the plan's compiler holds both sides against each other.
pub const NAMES: &[&str] = &[
    "audit_logs_list",
    "audit_logs_retrieve",
    "comment_create",
    "comment_delete",
    "comment_retrieve",
    "comment_update",
    "comments_list",
    "current_user",
    "cycle_create",
    "cycle_update",
    "label_delete",
    "module_create",
    "module_retrieve",
    "project_members",
    "state_create",
    "state_update",
    "work_item_archive",
    "work_item_create",
    "work_item_delete",
    "work_item_lookup",
    "work_item_retrieve",
    "work_item_unarchive",
    "work_item_update",
    "work_items_list",
    "workspace_members",
];

/// Runs the function called `name`.
pub(super) async fn run(name: &str, job: &Job) -> Result<Reply, Refusal> {
    match name {
        "audit_logs_list" => audit_logs_list::run(job).await,
        "audit_logs_retrieve" => audit_logs_retrieve::run(job).await,
        "comment_create" => comment_create::run(job).await,
        "comment_delete" => comment_delete::run(job).await,
        "comment_retrieve" => comment_retrieve::run(job).await,
        "comment_update" => comment_update::run(job).await,
        "comments_list" => comments_list::run(job).await,
        "current_user" => current_user::run(job),
        "cycle_create" => cycle_create::run(job).await,
        "cycle_update" => cycle_update::run(job).await,
        "label_delete" => label_delete::run(job).await,
        "module_create" => module_create::run(job).await,
        "module_retrieve" => module_retrieve::run(job).await,
        "project_members" => project_members::run(job).await,
        "state_create" => state_create::run(job).await,
        "state_update" => state_update::run(job).await,
        "work_item_archive" => work_item_archive::run(job).await,
        "work_item_create" => work_item_create::run(job).await,
        "work_item_delete" => work_item_delete::run(job).await,
        "work_item_lookup" => work_item_lookup::run(job).await,
        "work_item_retrieve" => work_item_retrieve::run(job).await,
        "work_item_unarchive" => work_item_unarchive::run(job).await,
        "work_item_update" => work_item_update::run(job).await,
        "work_items_list" => work_items_list::run(job).await,
        "workspace_members" => workspace_members::run(job).await,
        _ => Err(Refusal::internal(format!("no function is called {name}"))),
    }
}

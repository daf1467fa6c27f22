//! What v1 does not have: types, properties, options, contexts and features of a workspace.
//!
//! The rules are `catalogue`'s, the data is the store's; here is who may, in which mode, in which order things
//! are refused (O2), and what clients see. A project's surface and the workspace's share every function: an
//! [`OwnCall`] knows which one it is on. One file a resource.
//!
//! May use: what `run` may use.

mod attachments;
mod audit;
mod call;
mod contexts;
mod deleted_project;
mod features;
mod lists;
mod options;
mod projects;
mod properties;
mod schema;
mod types;

pub use lists::KeptLists;

use super::job::Job;
use crate::refusal::Refusal;
use crate::v2::Reply;
use call::OwnCall;

/// Names mappings may use; the plan's compiler holds both sides against each other.
pub const NAMES: &[&str] = &[
    "attachments_attach",
    "attachments_detach",
    "attachments_list",
    "attachments_retrieve",
    "contexts_create",
    "contexts_delete",
    "contexts_list",
    "contexts_retrieve",
    "contexts_update",
    "features_retrieve",
    "features_update",
    "options_create",
    "options_delete",
    "options_list",
    "options_retrieve",
    "options_update",
    "properties_create",
    "properties_delete",
    "properties_list",
    "properties_retrieve",
    "properties_update",
    "types_create",
    "types_delete",
    "types_enable",
    "types_import",
    "types_list",
    "types_mark_default",
    "types_retrieve",
    "types_schema",
    "types_update",
];

/// Runs the function called `name`, which shows one record as the definitions of the call have it.
fn shown(name: &str, call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    match name {
        "attachments_retrieve" => attachments::retrieve(call),
        "contexts_retrieve" => contexts::retrieve(call),
        "features_retrieve" => features::retrieve(call),
        "options_retrieve" => options::retrieve(call),
        "properties_retrieve" => properties::retrieve(call),
        "types_retrieve" => types::retrieve(call),
        _ => Err(Refusal::internal(format!("{name} shows no record of the own store"))),
    }
}

/// Runs the function called `name`, after the role and the mode were found right.
pub(super) async fn run(name: &str, job: &Job) -> Result<Reply, Refusal> {
    let call = OwnCall::begin(job).await?;
    if let Err(refusal) = call.check_role().await {
        if name == "features_update" {
            features::record_refusal(&call, &refusal).await?;
        }
        return Err(refusal);
    }
    call.check_mode(call.catalogue())?;
    call.hold_precondition(call.catalogue())?;
    match name {
        "attachments_attach" => attachments::attach(&call).await,
        "attachments_detach" => attachments::detach(&call).await,
        "attachments_list" => attachments::list(&call),
        "contexts_create" => contexts::create(&call).await,
        "contexts_delete" => contexts::delete(&call).await,
        "contexts_list" => contexts::list(&call),
        "contexts_update" => contexts::update(&call).await,
        "features_update" => features::update(&call).await,
        "options_create" => options::create(&call).await,
        "options_delete" => options::delete(&call).await,
        "options_list" => options::list(&call),
        "options_update" => options::update(&call).await,
        "properties_create" => properties::create(&call).await,
        "properties_delete" => properties::delete(&call).await,
        "properties_list" => properties::list(&call),
        "properties_update" => properties::update(&call).await,
        "types_create" => types::create(&call).await,
        "types_delete" => types::delete(&call).await,
        "types_enable" => types::enable(&call).await,
        "types_import" => types::import(&call).await,
        "types_list" => types::list(&call),
        "types_mark_default" => types::mark_default(&call).await,
        "attachments_retrieve"
        | "contexts_retrieve"
        | "features_retrieve"
        | "options_retrieve"
        | "properties_retrieve"
        | "types_retrieve" => shown(name, &call),
        "types_schema" => schema::retrieve(&call).await,
        "types_update" => types::update(&call).await,
        _ => Err(Refusal::internal(format!("no function of the own store is called {name}"))),
    }
}

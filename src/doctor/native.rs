//! The deployment's own v2, where one is named: there, a v2, and asked only for what it has.
//!
//! May use: `hop`, `native`, `plan`, `settings`, `store`, `report`.

use super::report::Report;
use crate::hop::Instance;
use crate::native::Modes;
use crate::native::probe::{Found, ask};
use crate::plan::Plan;
use crate::settings::Settings;
use crate::store::{LeftWorkspace, Store, file_of};
use std::sync::Arc;

const PART: &str = "native";

/// Looks at the v2 that `settings` name; nothing is said where none is named.
pub async fn look(settings: &Settings, plan: &Arc<Plan>, report: &mut Report) {
    let Some(address) = &settings.native.base_url else { return };
    let remedy = "correct `native.base_url` or `native.serve`; docs/cut-over.md says how they work";
    if let Err(fault) = Modes::new(&settings.native, plan, &left(settings).await) {
        return report.fault(PART, fault, remedy);
    }
    match ask(address, &Instance::default()).await {
        Ok(Found::V2) => report.fine(PART, format!("{} is a v2", address.as_str())),
        Ok(Found::Silence(cause)) => report.warn(
            PART,
            format!("{} does not answer: {cause}", address.as_str()),
            "see whether it runs, and whether scheme, host and port are right",
        ),
        Err(fault) => report.fault(PART, fault, remedy),
    }
}

/// The workspaces that have been left; none where the store is not there or cannot be read, which is told elsewhere.
async fn left(settings: &Settings) -> Vec<LeftWorkspace> {
    if file_of(&settings.store.url).is_some_and(|file| !file.exists()) {
        return Vec::new();
    }
    let Ok(store) = Store::open_for_upkeep(&settings.store.url).await else { return Vec::new() };
    let left = store.left_workspaces().await.unwrap_or_default();
    store.close().await;
    left
}

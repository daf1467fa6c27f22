//! Optional services of a gateway. The deployment's own v2: whether it answers, is a v2, and is asked only for
//! operations that it has. The place shared with other processes: whether a connection works, and its version.
//!
//! May use: `hop`, `native`, `plan`, `settings`, `shared`, `store`, `report`.

use super::report::Report;
use crate::hop::Instance;
use crate::native::Modes;
use crate::native::probe::{ProbeResult, ask};
use crate::plan::Plan;
use crate::settings::Settings;
use crate::shared::{Shared, Unusable};
use crate::store::{LeftWorkspace, Store, missing_file};
use std::sync::Arc;

const PART: &str = "native";

/// Checks the v2 that `settings` name. Reports nothing when none is set.
pub(super) async fn look(settings: &Settings, plan: &Arc<Plan>, report: &mut Report) {
    let Some(address) = &settings.native.base_url else { return };
    let remedy = "correct `native.base_url` or `native.serve`; docs/cut-over.md says how they work";
    if let Err(fault) = Modes::new(&settings.native, plan, &left(settings).await) {
        return report.fault(PART, fault, remedy);
    }
    match ask(address, &Instance::default()).await {
        Ok(ProbeResult::V2) => report.fine(PART, format!("{} is a v2", address.as_str())),
        Ok(ProbeResult::Silence(cause)) => report.warn(
            PART,
            format!("{} does not answer: {cause}", address.as_str()),
            "see whether it runs, and whether scheme, host and port are right",
        ),
        Err(fault) => report.fault(PART, fault, remedy),
    }
}

/// Returns the workspaces that have been left. Returns none when the store is missing or unreadable; another check
/// reports that.
async fn left(settings: &Settings) -> Vec<LeftWorkspace> {
    if !matches!(missing_file(&settings.store.url), Ok(None)) {
        return Vec::new();
    }
    let Ok(store) = Store::open_for_upkeep(&settings.store.url).await else { return Vec::new() };
    let left = store.left_workspaces().await.unwrap_or_default();
    store.close().await;
    left
}

/// Checks the shared place that `settings` name. Reports nothing when none is set.
pub(super) async fn shared(settings: &Settings, report: &mut Report) {
    // The address may hold a password, so it is not shown.
    let Some(url) = &settings.shared.url else { return };
    match Shared::look(url.expose(), settings.shared.timeout).await {
        Ok(None) => report.fine("shared", "the Redis of shared.url can be used"),
        Ok(Some(Unusable::Silent(cause))) => report.warn(
            "shared",
            format!("the Redis of shared.url does not answer ({cause}); until it does, each process counts alone"),
            "see whether it runs, whether host and port are right, and whether it has too many connections",
        ),
        Ok(Some(Unusable::Refusing(cause))) => report.warn(
            "shared",
            format!("the Redis of shared.url answers with an error ({cause}); until it can be used, each process \
                     counts alone"),
            "see whether it is a replica, or still reads its data",
        ),
        Err(fault) => report.fault(
            "shared",
            format!("the Redis of shared.url cannot be used: {fault}"),
            "correct the setting shared.url (user, password, number of the database); docs/several-gateways.md says \
             what its user must be allowed",
        ),
    }
}

//! The place that is shared with other processes: whether Redis lets this machine in.
//!
//! It is connected to and asked for its version, nothing else. May use: `settings`, `shared`, `report`.

use super::report::Report;
use crate::settings::Settings;
use crate::shared::Shared;

const PART: &str = "shared";

/// Looks at the place that `settings` name; nothing is said where none is named.
pub async fn look(settings: &Settings, report: &mut Report) {
    // The address may hold a password, so it is not told.
    let Some(url) = &settings.shared.url else { return };
    match Shared::look(url.expose()).await {
        Ok(None) => report.fine(PART, "the Redis of shared.url can be used"),
        Ok(Some(cause)) => report.warn(
            PART,
            format!("the Redis of shared.url does not answer ({cause}); until it does, each process counts alone"),
            "see whether it runs, and whether host and port are right",
        ),
        Err(fault) => report.fault(
            PART,
            format!("the Redis of shared.url cannot be used: {fault}"),
            "correct the setting shared.url; docs/several-gateways.md says what its user must be allowed",
        ),
    }
}

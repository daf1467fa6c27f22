//! Removal of outdated overlay values, whose fields v1's users have changed: when v1 shows the former value again, the
//! overlay value must not return with it. May use: what `run` may use.

use crate::boxed::boxed;
use crate::plan::Resource;
use crate::run::job::Job;
use crate::run::members::SKEW;
use crate::store::{OverlayValue, Store};
use crate::v2::time::Micros;
use std::time::Duration;
use tokio::time::timeout;
use uuid::Uuid;

/// Longest time for which a read waits for the removal.
const PATIENCE: Duration = Duration::from_secs(1);

impl Job {
    /// Removes outdated overlay values of the record `id`, as [`remove`] does, after a read of this call.
    pub(in crate::run) async fn remove_outdated(&self, id: Uuid, outdated: Vec<OverlayValue>, began: Micros) {
        // An answer that is used because v1 gave no newer one was read before `began`.
        if outdated.is_empty() || self.call.ctx.meter.is_stale() {
            return;
        }
        if let Ok(workspace) = self.workspace_id().await {
            let outdated: Vec<_> = outdated.into_iter().map(|value| (id, value)).collect();
            remove(&self.runner.store, self.resource(), workspace, &outdated, began).await;
        }
    }
}

/// Removes overlay values, each with its record, that are outdated by a read of v1 that began at `began`. A value that
/// was written later stays, because the read may show an older state of v1 than the write saw. A failure does not
/// concern the answer: a later read that finds the value outdated removes it.
pub(in crate::run) async fn remove(
    store: &Store,
    resource: &Resource,
    workspace: Uuid,
    outdated: &[(Uuid, OverlayValue)],
    began: Micros,
) {
    if outdated.is_empty() || store.is_read_only() {
        return;
    }
    let removing = boxed(|| store.delete_outdated_overlay(workspace, &resource.name, outdated, began - SKEW));
    match timeout(PATIENCE, removing).await {
        Ok(Ok(())) => {}
        Ok(Err(fault)) => tracing::warn!(%fault, "outdated overlay values could not be removed"),
        Err(_) => tracing::warn!("outdated overlay values could not be removed in time"),
    }
}

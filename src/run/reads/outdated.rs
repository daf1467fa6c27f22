//! Removal of outdated overlay values, whose fields v1's users have changed: when v1 shows the former value again, the
//! overlay value must not return with it. May use: what `run` may use.

use crate::plan::Resource;
use crate::run::job::Job;
use crate::run::members::SKEW;
use crate::run::runner::Runner;
use crate::store::OverlayValue;
use crate::v2::time::Micros;
use uuid::Uuid;

impl Job {
    /// Removes outdated overlay values of the record `id`, as [`remove`] does, after a read of this call.
    pub(in crate::run) async fn remove_outdated(&self, id: Uuid, outdated: Vec<OverlayValue>, began: Micros) {
        // An answer that is used because v1 gave no newer one was read before `began`.
        if outdated.is_empty() || self.call.ctx.meter.is_stale() {
            return;
        }
        if let Ok(workspace) = self.workspace_id().await {
            remove(&self.runner, self.resource(), workspace, vec![(id, outdated)], began);
        }
    }
}

/// Begins to remove overlay values, each list with its record, that are outdated by a read of v1 that began at `began`.
/// A value that was written later stays, because the read may show an older state of v1 than the write saw. No answer
/// waits for the removal or fails with it: a later read that finds the value outdated removes it.
pub(in crate::run) fn remove(
    runner: &Runner,
    resource: &Resource,
    workspace: Uuid,
    mut outdated: Vec<(Uuid, Vec<OverlayValue>)>,
    began: Micros,
) {
    outdated.retain(|(_, values)| !values.is_empty());
    if outdated.is_empty() || runner.store.is_read_only() {
        return;
    }
    let (store, kind) = (runner.store.clone(), resource.name.clone());
    drop(runner.spawn_write(async move {
        for (record, values) in outdated {
            let removed = store.delete_outdated_overlay(workspace, &kind, record, &values, began - SKEW).await;
            if let Err(fault) = removed {
                tracing::warn!(%fault, "outdated overlay values could not be removed");
                return;
            }
        }
    }));
}

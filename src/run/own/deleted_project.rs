//! What the end of a project, or of a record in it, at v1 means for what is kept here.
//!
//! v1 tells nobody that a project was deleted: its card looks like that of a project one may not see. Only the
//! answer to the delete itself, which comes by on the pass-through, is proof. May use: what `run` may use.

use super::audit;
use crate::refusal::Refusal;
use crate::run::Runner;
use crate::run::audit::SYSTEM;
use crate::store::{AuditActor, Store};
use crate::v2::time::Micros;
use uuid::Uuid;

impl Runner {
    /// v1 has deleted the project. Contexts forget it (O84), and its own definitions go; everything recorded on its work
    /// items counts as missing from now on, so that a sweep can take it.
    pub async fn project_deleted(&self, project: Uuid) -> Result<(), Refusal> {
        forget_project(&self.store, project).await
    }

    /// v1 has deleted a record of the project. When it is a work item, everything kept of it counts as missing from now
    /// on, so that a sweep can take it.
    pub async fn record_deleted(&self, project: Uuid, record: Uuid) -> Result<(), Refusal> {
        if self.store.project_items(project).await?.knows(record) {
            self.store.mark_missing(project, &[record], &[], Micros::MAX).await?;
        }
        Ok(())
    }
}

/// Takes away what a project that v1 has deleted has defined, and what names it; see [`Runner::project_deleted`].
pub async fn forget_project(store: &Store, project: Uuid) -> Result<(), Refusal> {
    for workspace in store.workspaces_naming(project).await? {
        let forgotten = store.edit(workspace, |edit| {
            let before = edit.after.clone();
            edit.forget_project(project);
            // Nobody asked for it: it follows from what somebody did at v1.
            let nobody = AuditActor { kind: SYSTEM, ..AuditActor::default() };
            Ok(((), audit::definitions(nobody, &before, &edit.after)))
        });
        forgotten.await?;
    }
    Ok(store.miss_project(project).await?)
}

//! What the list and the retrieve of the audit log have in common. May use: what `run` may use.

use crate::access::{VisibleProjects, WorkspaceRole};
use crate::refusal::Refusal;
use crate::run::Job;
use crate::store::AuditRecord;
use std::sync::Arc;
use uuid::Uuid;

/// The workspace whose log may be read: v1 has no audit log, so the role decides alone (O13).
pub(super) async fn require_audit_reader(job: &Job) -> Result<Uuid, Refusal> {
    let (access, call) = (&job.runner.access, &job.call);
    let card = access.workspace(&call.caller, job.slug(), &call.ctx).await?;
    if card.role != WorkspaceRole::Admin {
        return Err(Refusal::Forbidden {
            detail: "Only administrators of the workspace may read its audit log.".into(),
        });
    }
    access.workspace_id(&call.caller, job.slug(), &call.ctx).await
}

/// The projects that the reader sees at present.
pub(super) async fn visible(job: &Job) -> Result<Arc<VisibleProjects>, Refusal> {
    let call = &job.call;
    job.runner.access.visible_projects(&call.caller, job.slug(), &call.ctx).await
}

/// The projects that the reader sees, when entries name any; else v1 is not asked.
pub(super) async fn visible_if(job: &Job, named: bool) -> Result<Option<Arc<VisibleProjects>>, Refusal> {
    if named { visible(job).await.map(Some) } else { Ok(None) }
}

/// Leaves out of the entries what belongs to other projects than the visible ones; `None` when no entry names any.
pub(super) fn leave_out_hidden(
    visible: Option<&VisibleProjects>,
    records: &mut [AuditRecord],
) -> Result<(), Refusal> {
    let Some(visible) = visible else { return Ok(()) };
    for record in records {
        record.leave_out_hidden(&|project| visible.contains(project))?;
    }
    Ok(())
}

/// Appends the read shape of an entry to `out`.
pub(super) fn write(record: &AuditRecord, out: &mut Vec<u8>) -> Result<(), Refusal> {
    serde_json::to_writer(out, record).map_err(Refusal::internal)
}

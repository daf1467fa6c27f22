//! What the list and the retrieve of the audit log have in common.

use crate::access::WorkspaceRole;
use crate::refusal::Refusal;
use crate::run::Job;
use crate::store::AuditRecord;
use uuid::Uuid;

/// The workspace whose log may be read: v1 has no audit log, so the role decides alone (O13).
pub(super) async fn opened(job: &Job) -> Result<Uuid, Refusal> {
    let (access, call) = (&job.runner.access, &job.call);
    let card = access.workspace(&call.caller, job.slug(), &call.ctx).await?;
    if card.role != WorkspaceRole::Admin {
        return Err(Refusal::Forbidden {
            detail: "Only administrators of the workspace may read its audit log.".into(),
        });
    }
    access.workspace_id(&call.caller, job.slug(), &call.ctx).await
}

/// Appends the read shape of an entry to `out`.
pub(super) fn write(record: &AuditRecord, out: &mut Vec<u8>) -> Result<(), Refusal> {
    serde_json::to_writer(out, record).map_err(Refusal::internal)
}

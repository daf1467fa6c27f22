//! One entry of the audit log, by its record id; the id of the event does not work. May use: what `run` may use.

use super::audit_logs_list as audit_log;
use crate::refusal::Refusal;
use crate::run::Job;
use crate::v2::{Reply, query};

pub(super) async fn run(job: &Job) -> Result<Reply, Refusal> {
    let workspace = audit_log::require_audit_reader(job).await?;
    let mut record = job.runner.store.audit_record(workspace, job.pk()?).await?.ok_or_else(Refusal::not_found)?;
    query::read_single(job.operation(), &job.call.parameters)?;
    let visible = audit_log::visible_if(job, record.names_projects()).await?;
    audit_log::leave_out_hidden(visible.as_deref(), std::slice::from_mut(&mut record))?;
    Ok(job.record_reply(audit_log::json(&record)?.into()))
}

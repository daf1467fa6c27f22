//! One comment, read as it is now; the complete collection would cost more calls the more comments there are.

use super::comment;
use crate::refusal::Refusal;
use crate::run::Job;
use crate::v2::{Reply, query};

pub(super) async fn run(job: &Job) -> Result<Reply, Refusal> {
    let held = comment::read(job).await?;
    query::read_single(job.operation(), &job.call.parameters)?;
    Ok(job.record_reply(held.record.json.clone()))
}

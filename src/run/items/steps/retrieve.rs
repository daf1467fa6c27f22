//! One live work item. v1 hides archived, draft and triage items itself (trap 53, `archived_get`). May use: what `run`
//! may use.

use crate::refusal::Refusal;
use crate::run::items::expansions;
use crate::run::items::fields::{ItemSource, Pairing};
use crate::run::job::InProject;
use crate::v2::Reply;

pub(in crate::run) async fn run(job: &InProject<'_>) -> Result<Reply, Refusal> {
    let id = job.pk()?;
    let mut pairing = Pairing::begin(job).await?;
    loop {
        let (item, source) = match job.item_in_shortage(|index| index.get(id)).await? {
            Some(item) => (item, ItemSource::Indexed),
            None => (job.read_item(id).await?, ItemSource::Read),
        };
        if let Some(reply) = expansions::paired(job, &item, source, &mut pairing).await? {
            return Ok(reply);
        }
    }
}

//! One live work item. v1 hides archived, draft and triage items itself (trap 53, `archived_get`). May use: what `run`
//! may use.

use crate::refusal::Refusal;
use crate::run::in_project::InProject;
use crate::run::items::expansions;
use crate::run::items::fields::{Looking, settle_open_writes};
use crate::v2::Reply;

pub(in crate::run) async fn run(job: &InProject<'_>) -> Result<Reply, Refusal> {
    let id = job.pk()?;
    let item = match job.item_in_shortage(|index| index.get(id)).await? {
        Some(item) => item,
        None => job.read_item(id).await?,
    };
    let recorded = settle_open_writes(job, std::slice::from_ref(&item), Looking::Read).await?;
    expansions::reply(job, &item, &recorded).await
}

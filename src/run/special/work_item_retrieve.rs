//! One live work item. v1 hides archived, draft and triage items itself (trap 53, `archived_get`).

use crate::refusal::Refusal;
use crate::run::{Job, expansions};
use crate::translate::work_items::CustomFields;
use crate::v2::Reply;
use serde_json::Map;

pub(super) async fn run(job: &Job) -> Result<Reply, Refusal> {
    let item = job.read_item(job.pk()?).await?;
    expansions::reply(job, &item, CustomFields::Shown(&Map::new())).await
}

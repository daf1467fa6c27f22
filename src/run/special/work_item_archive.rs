//! Archives a work item. v1 has no route for it; a PATCH of `archived_at` with a day does it (trap 53,
//! `archived_archive_by_patch`). Only a live item can be archived, so a second archive is 404.

use crate::refusal::Refusal;
use crate::run::{Job, expansions};
use crate::translate::work_items::CustomFields;
use crate::v2::Reply;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

pub(super) async fn run(job: &Job) -> Result<Reply, Refusal> {
    let id = job.pk()?;
    job.live_item(id).await?;
    expansions::wanted(job)?;
    let today = Timestamp::now().to_zoned(TimeZone::UTC).date().to_string();
    let body = Map::from_iter([("archived_at".to_owned(), Value::String(today))]);
    let answer = job.patch(job.resource(), id, &body).await?;
    job.item_gone(id);
    let item = job.item_from(&answer)?;
    expansions::reply(job, &item, CustomFields::Hidden).await
}

//! Comments of one work item: the complete collection, filtered, ordered and paged here (traps 47, 48), the
//! work item looked at side by side (trap 36).

use super::comment::item_id;
use crate::refusal::Refusal;
use crate::run::Job;
use crate::v2::{Reply, query};

pub(super) async fn run(job: &Job) -> Result<Reply, Refusal> {
    let strict = job.runner.settings.strict_query;
    let call = match query::read_list(job.operation(), job.resource(), &job.call.parameters, strict) {
        Ok(call) => call,
        // A missing item is told before a bad query (O2); the comments are not worth a call then.
        Err(refusal) => return Err(job.live_item(item_id(job)?).await.err().unwrap_or(refusal)),
    };
    let (item, loaded) = tokio::join!(job.live_item(item_id(job)?), job.load(job.resource()));
    item?;
    job.page_of(loaded?.thing, call).await
}

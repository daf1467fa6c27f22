//! Writes to collections where only one record has a flag, such as the default state: on which record v2 shows the flag
//! after a write.
//!
//! v1 may have the flag on no record, or on two (trap 23, `states_list_defaults_after_failed_create`,
//! `states_list_two_defaults`). Every write can then change which record v1 uses. May use: what `run` may use.

use crate::plan::CollectionRule;
use crate::refusal::Refusal;
use crate::run::Collection;
use crate::run::job::Job;
use crate::run::kept::shelf::Write;
use crate::run::reads::flagged;
use crate::translate::Held;
use crate::v2::Reply;
use std::time::Instant;
use uuid::Uuid;

/// Adds the stored record to the cache, and answers with it as the list shows it from now on. When the order of the
/// records is uncertain and counts, v1's list is read again.
pub(in crate::run) async fn finish(
    job: &Job,
    mut write: Write<'_, Collection>,
    rule: &CollectionRule,
    held: Held,
) -> Result<Reply, Refusal> {
    let (resource, id, was_read) = (job.resource(), held.record.id, write.before().is_some());
    let Some(latest) = write.latest() else {
        let reply = job.record_reply(held.record.json.clone());
        write.finish(|before| before.with(&[held]));
        return Ok(reply);
    };
    let mut after = flagged::in_order(resource, latest.value.with(std::slice::from_ref(&held)));
    let is_known = match was_read {
        true => flagged::is_certain(resource, rule, &after),
        false => flagged::is_on_one(resource, rule, &after),
    };
    let mut is_kept = true;
    if !is_known {
        match job.load_since(resource, Instant::now()).await {
            Ok(all) => {
                after = all.value.with(&[]);
                write.found(&all);
            }
            // The write itself is done: it is answered by what is known, which is not kept.
            Err(_) => is_kept = false,
        }
    }
    let after = shown(job, rule, after).await?;
    let record = after.get(id).map_or(held.record.json, |held| held.record.json.clone());
    if is_kept {
        write.finish(|_| after);
    }
    Ok(job.record_reply(record))
}

/// Removes a deleted record from the cache; another record may show the flag now.
pub(in crate::run) async fn remove(job: &Job, write: Write<'_, Collection>, rule: &CollectionRule, id: Uuid) {
    let Some(latest) = write.latest() else { return write.finish(|before| before.without(id)) };
    // A failure drops the cached data; the record is deleted all the same.
    if let Ok(after) = shown(job, rule, latest.value.without(id)).await {
        write.finish(|_| after);
    }
}

/// Returns the collection with the flag shown on one record only.
async fn shown(job: &Job, rule: &CollectionRule, all: Collection) -> Result<Collection, Refusal> {
    let mut changed = Vec::new();
    for (at, text) in flagged::corrections(job.resource(), rule, all.rows()) {
        let record = job.translate_record(text.as_bytes()).await?.record;
        changed.push(Held { record, v1: all.rows()[at].v1.clone() });
    }
    Ok(if changed.is_empty() { all } else { all.with(&changed) })
}

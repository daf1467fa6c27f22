//! The delete in a collection where only one record has a flag, such as the default state: it is refused for the record
//! that shows the flag, whether v1 has it there or not (trap 23). May use: what `run` may use.

use super::{exclusive, update};
use crate::plan::{CollectionRule, Extra};
use crate::refusal::Refusal;
use crate::run::Collection;
use crate::run::job::Job;
use crate::run::kept::shelf::Write;
use crate::run::reads::flagged;
use crate::translate::refusal;
use uuid::Uuid;

/// Deletes the addressed record at v1, unless v2 shows the flag on it. A second flag of v1, which v2 does not show and
/// which makes v1 refuse, is cleared first.
pub(in crate::run) async fn delete(
    job: &Job,
    write: &mut Write<'_, Collection>,
    rule: &CollectionRule,
    was_there: bool,
) -> Result<(), Refusal> {
    let (resource, id) = (job.resource(), job.pk()?);
    let held = write.latest().and_then(|kept| kept.value.get(id).cloned());
    // Without a list at hand v1 is asked first, so that the usual delete is one call.
    if held.is_none_or(|held| !flagged::is_shown(resource, rule, &held) && !flagged::has(resource, rule, &held)) {
        match job.delete(id, was_there).await {
            // v1 has the flag on this record. Only a list that is read now tells whether v2 shows it there.
            Err(refused) if refused == refusal::of_flagged(resource, rule) => {}
            outcome => return outcome,
        }
    }
    release(job, write, rule, id).await?;
    job.delete(id, true).await
}

/// Checks in a fresh list that v2 does not show the flag on the record, and clears it there if v1 has it.
async fn release(
    job: &Job,
    write: &mut Write<'_, Collection>,
    rule: &CollectionRule,
    id: Uuid,
) -> Result<(), Refusal> {
    let resource = job.resource();
    let held = update::refresh(job, write, id).await?;
    if flagged::is_shown(resource, rule, &held) {
        return Err(refusal::of_flagged(resource, rule));
    }
    if flagged::has(resource, rule, &held) {
        let _room = job.room_for(&[(Extra::Default, 1)], 0).await?;
        let cleared = exclusive::clear(job, rule, &[id]).await?;
        write.carry(|before| before.with(&cleared));
    }
    Ok(())
}

//! Records that custom values stand for: people of the project and its work items.

use crate::refusal::Refusal;
use crate::run::Job;
use crate::translate::members::Person;
use crate::translate::work_items::Item;
use crate::translate::work_items_key::HumanKey;
use crate::v2::value::read_uuid;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use uuid::Uuid;

/// Unknown work items that are read one by one; for more of them the index is asked.
const SINGLE_READS: usize = 3;

/// The person that an id or an address names, if it is exactly one of these.
pub(super) fn person<'p>(people: &'p [Person], named: &str) -> Option<&'p Person> {
    if let Some(id) = read_uuid(named) {
        return people.iter().find(|person| person.id == id);
    }
    let wanted = named.to_lowercase();
    let has = |person: &&Person| person.email.as_ref().is_some_and(|email| email.to_lowercase() == wanted);
    let mut hits = people.iter().filter(has);
    hits.next().filter(|_| hits.next().is_none())
}

/// People of the project, looked at again when one of `named` is not among them; not read for nobody.
pub(super) async fn people(job: &Job, named: &[String]) -> Result<Arc<Vec<Person>>, Refusal> {
    if named.is_empty() {
        return Ok(Arc::default());
    }
    job.project_people_with(|people| named.iter().all(|one| person(people, one).is_some())).await
}

/// The live work item of this project that an id or a human key names.
pub(super) async fn item(job: &Job, named: &str) -> Result<Option<Item>, Refusal> {
    if let Some(id) = read_uuid(named) {
        return if_live(Box::pin(job.live_item(id)).await);
    }
    let card = job.card()?;
    let Some(key) = HumanKey::parse(named).filter(|key| key.project == card.identifier) else { return Ok(None) };
    if_live(Box::pin(job.own_item_by_key(&key)).await)
}

/// Live work items of this project by id; those v1 does not show are left out.
pub(super) async fn items(job: &Job, ids: &HashSet<Uuid>) -> Result<HashMap<Uuid, Item>, Refusal> {
    let mut known: HashMap<Uuid, Item> =
        ids.iter().filter_map(|id| job.vouched(*id).map(|item| (*id, item))).collect();
    let unknown: Vec<Uuid> = ids.iter().filter(|id| !known.contains_key(id)).copied().collect();
    if unknown.len() > SINGLE_READS {
        let index = job.runner.indexes.fresh(&job.index_scope()?, job.key(), &job.call.ctx).await?;
        known.extend(unknown.into_iter().filter_map(|id| Some((id, index.get(id)?))));
        return Ok(known);
    }
    for id in unknown {
        if let Some(item) = if_live(Box::pin(job.read_item(id)).await)? {
            known.insert(id, item);
        }
    }
    Ok(known)
}

fn if_live<T>(read: Result<T, Refusal>) -> Result<Option<T>, Refusal> {
    match read {
        Ok(found) => Ok(Some(found)),
        Err(Refusal::NotFound { .. }) => Ok(None),
        Err(other) => Err(other),
    }
}

//! Records that custom values stand for: people of the project and its work items.

use crate::refusal::Refusal;
use crate::run::Job;
use crate::run::items::record::if_live;
use crate::translate::members::Person;
use crate::translate::work_items::Item;
use crate::translate::work_items_key::HumanKey;
use crate::v2::value::read_uuid;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use uuid::Uuid;

/// Unknown work items that are read one by one; for more of them the index is asked.
const SINGLE_READS: usize = 3;

/// People by what a body may call them: it may name many, so each is looked at once.
pub(super) struct Named<'p> {
    by_id: HashMap<Uuid, &'p Person>,
    /// None for an address that several have.
    by_address: HashMap<String, Option<&'p Person>>,
}

impl<'p> Named<'p> {
    /// These people.
    pub(super) fn of(people: &'p [Person]) -> Self {
        let mut named = Self { by_id: HashMap::new(), by_address: HashMap::new() };
        for person in people {
            named.by_id.entry(person.id).or_insert(person);
            if let Some(address) = &person.email {
                let only = |known: &mut Option<&Person>| *known = None;
                named.by_address.entry(address.to_lowercase()).and_modify(only).or_insert(Some(person));
            }
        }
        named
    }

    /// The person that an id or an address names, if it is exactly one of these.
    pub(super) fn find(&self, named: &str) -> Option<&'p Person> {
        match read_uuid(named) {
            Some(id) => self.by_id.get(&id).copied(),
            None => self.by_address.get(&named.to_lowercase()).copied().flatten(),
        }
    }
}

/// People of the project, looked at again when one of `named` is not among them; not read for nobody.
pub(super) async fn people(job: &Job, named: &[String]) -> Result<Arc<Vec<Person>>, Refusal> {
    if named.is_empty() {
        return Ok(Arc::default());
    }
    let all_known = |people: &[Person]| {
        let known = Named::of(people);
        named.iter().all(|one| known.find(one).is_some())
    };
    job.project_people_with(all_known).await
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

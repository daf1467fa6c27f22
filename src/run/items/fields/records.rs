//! Records that custom values refer to: people of the project and its work items. May use: what `run` may use.

use crate::plan::HumanKey;
use crate::refusal::Refusal;
use crate::run::job::InProject;
use crate::run::members::unless_missing;
use crate::translate::members::Person;
use crate::translate::work_items::Item;
use crate::v2::value::read_uuid;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use uuid::Uuid;

/// Most unknown work items that are read one by one; for more, the index is used.
const SINGLE_READS: usize = 3;
/// The same limit for a body while there is no index: building one takes a call for each 1,000 items of the project.
const SINGLE_READS_WITHOUT_INDEX: usize = 20;

/// People by the names that a body may use. A body may name many, and the people are gone through only once.
pub(super) struct Named<'p> {
    by_id: HashMap<Uuid, &'p Person>,
    /// None for an address that several people have.
    by_address: HashMap<String, Option<&'p Person>>,
}

impl<'p> Named<'p> {
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

    /// Returns the person that an id or an address names, if exactly one matches.
    pub(super) fn find(&self, named: &str) -> Option<&'p Person> {
        match read_uuid(named) {
            Some(id) => self.by_id.get(&id).copied(),
            None => self.by_address.get(&named.to_lowercase()).copied().flatten(),
        }
    }
}

/// Returns the people of the project; reads them again when one of `named` is missing, and not at all without names.
pub(super) async fn people(job: &InProject<'_>, named: &[String]) -> Result<Arc<Vec<Person>>, Refusal> {
    if named.is_empty() {
        return Ok(Arc::default());
    }
    let all_known = |people: &[Person]| {
        let known = Named::of(people);
        named.iter().all(|one| known.find(one).is_some())
    };
    job.project_people_with(all_known).await
}

/// Returns the live work items of this project by the ids or human keys that name them; a body may name many. `sent`
/// are the names in the body, `defaults` those of properties that it leaves out.
pub(super) async fn items_named(
    job: &InProject<'_>,
    sent: HashSet<&str>,
    defaults: HashSet<&str>,
) -> Result<HashMap<String, Uuid>, Refusal> {
    let named: HashSet<&str> = sent.union(&defaults).copied().collect();
    if named.is_empty() {
        return Ok(HashMap::new());
    }
    let keys: HashMap<&str, HumanKey> =
        named.iter().filter_map(|name| Some((*name, HumanKey::in_body(name)?))).collect();
    // A default may have belonged to another project for years; it justifies no call.
    let asked = keys.iter().filter(|(name, _)| sent.contains(*name)).map(|(_, key)| &*key.project);
    let identifier = job.identifier_checked_against(asked).await?;
    let (mut found, mut unknown) = (HashMap::new(), Vec::new());
    for name in named {
        if let Some(id) = read_uuid(name) {
            match job.item_in_fresh_index(id) {
                Some(item) => drop(found.insert(name.to_owned(), item.id)),
                None => unknown.push((name, RecordReference::Id(id))),
            }
        } else if let Some(key) = keys.get(name).filter(|key| key.project == identifier) {
            unknown.push((name, RecordReference::Key(key)));
        }
    }
    let single_reads = match job.runner.indexes.is_built(&job.index_scope()?) {
        true => SINGLE_READS,
        false => SINGLE_READS_WITHOUT_INDEX,
    };
    let has_path = |(_, wanted): &(&str, RecordReference<'_>)| match wanted {
        RecordReference::Id(_) => true,
        RecordReference::Key(key) => key.has_path(),
    };
    let ids = match unknown.len() > single_reads || !unknown.iter().all(has_path) {
        true => by_index(job, &identifier, &unknown).await?,
        false => one_by_one(job, &unknown).await?,
    };
    found.extend(unknown.iter().zip(ids).filter_map(|((name, _), id)| Some(((*name).to_owned(), id?))));
    Ok(found)
}

enum RecordReference<'k> {
    Id(Uuid),
    Key(&'k HumanKey),
}

async fn one_by_one(
    job: &InProject<'_>,
    wanted: &[(&str, RecordReference<'_>)],
) -> Result<Vec<Option<Uuid>>, Refusal> {
    let mut ids = Vec::with_capacity(wanted.len());
    for (_, wanted) in wanted {
        let read = match wanted {
            RecordReference::Id(id) => Box::pin(job.read_item(*id)).await,
            RecordReference::Key(key) => Box::pin(job.own_item_by_key(key)).await,
        };
        ids.push(unless_missing(read)?.map(|item| item.id));
    }
    Ok(ids)
}

/// Finds the items in the newest index. Keys find nothing when the identifier of the project is no longer `identifier`.
async fn by_index(
    job: &InProject<'_>,
    identifier: &str,
    wanted: &[(&str, RecordReference<'_>)],
) -> Result<Vec<Option<Uuid>>, Refusal> {
    let index = job.newest_index().await?;
    let numbers = wanted.iter().filter_map(|(_, wanted)| match wanted {
        RecordReference::Key(key) => Some(i64::from(key.number)),
        RecordReference::Id(_) => None,
    });
    let numbered = index.by_sequences(&numbers.collect());
    let has_keys = wanted.iter().any(|(_, wanted)| matches!(wanted, RecordReference::Key(_)));
    let is_of_keys = has_keys && job.is_identifier_now(identifier).await?;
    let id = |wanted: &RecordReference<'_>| match wanted {
        RecordReference::Id(id) => index.get(*id).map(|item| item.id),
        RecordReference::Key(_) if !is_of_keys => None,
        // A number that several items have identifies none of them.
        RecordReference::Key(key) => match numbered.get(&i64::from(key.number))?.as_slice() {
            [item] => Some(item.id),
            _ => None,
        },
    };
    Ok(wanted.iter().map(|(_, wanted)| id(wanted)).collect())
}

/// Returns live work items of this project by id, without those that v1 does not show.
pub(super) async fn items(job: &InProject<'_>, ids: &HashSet<Uuid>) -> Result<HashMap<Uuid, Item>, Refusal> {
    let mut known: HashMap<Uuid, Item> =
        ids.iter().filter_map(|id| job.item_in_fresh_index(*id).map(|item| (*id, item))).collect();
    let unknown: Vec<Uuid> = ids.iter().filter(|id| !known.contains_key(id)).copied().collect();
    if unknown.len() > SINGLE_READS {
        let index = job.runner.indexes.fresh(&job.index_scope()?, job.key(), &job.call.ctx).await?;
        known.extend(unknown.into_iter().filter_map(|id| Some((id, index.get(id)?))));
        return Ok(known);
    }
    for id in unknown {
        if let Some(item) = unless_missing(Box::pin(job.read_item(id)).await)? {
            known.insert(id, item);
        }
    }
    Ok(known)
}

//! The data that `expand` adds to work items, for one item or a whole page.
//!
//! v1's own `expand` replaces ids, turns null into `{}` and leaves a parent without its name (traps 49, 50). So
//! expansions are built here: from the cached states, labels and people of the project, and for parents
//! from the items at hand, the index, or v1. States, labels and people cost one read each when they are not cached;
//! parents cost a few single reads or one walk through the list, for a page of any size. May use: what `run` may use.

use crate::plan::{Known, Operation};
use crate::refusal::Refusal;
use crate::run::items::fields::{self, ItemSource, Pairing};
use crate::run::items::unlisted_states;
use crate::run::job::InProject;
use crate::run::kept::collection::Collection;
use crate::run::outlook;
use crate::run::reads::list;
use crate::store::{ItemValues, ProjectItems};
use crate::translate::work_items::Item;
use crate::translate::work_items_text::{self, Added, CustomFields, Expanded, USUAL_SIZE};
use crate::translate::{Held, members};
use crate::v2::{Reply, query};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use uuid::Uuid;

/// Most unknown parents that are read one by one; more of them are found by one walk through the list.
const SINGLE_READS: usize = 3;
const ROWS: &str = "fields=id,name,sequence_id,parent&expand=parent";
const CHILD: &str = "fields=id,parent&expand=parent";

/// Returns the reply with one work item and its custom values, expanded as the query asks.
pub(in crate::run) async fn reply(
    job: &InProject<'_>,
    item: &Item,
    recorded: &ProjectItems,
) -> Result<Reply, Refusal> {
    let values = job.own_values(item.id, recorded).await?;
    with_values(job, item, recorded, &values).await
}

/// Returns the reply without custom values, and with these expansions.
pub(in crate::run) async fn reply_without_values(
    job: &InProject<'_>,
    item: &Item,
    recorded: &ProjectItems,
    added: &[(String, Expanded)],
) -> Result<Reply, Refusal> {
    let values = job.own_values(item.id, recorded).await?;
    in_full(job, item, recorded, &values, CustomFields::Hidden, added)
}

/// Like [`reply`], for an item that was just taken from `source`, if the recorded data fit it; none when it must be
/// read again.
pub(in crate::run) async fn paired(
    job: &InProject<'_>,
    item: &Item,
    source: ItemSource,
    pairing: &mut Pairing,
) -> Result<Option<Reply>, Refusal> {
    let Some(recorded) = pairing.holds(job, item, source).await? else {
        return Ok(None);
    };
    let Some(values) = pairing.values(job, item.id, &recorded).await? else { return Ok(None) };
    with_values(job, item, &recorded, &values).await.map(Some)
}

async fn with_values(
    job: &InProject<'_>,
    item: &Item,
    recorded: &ProjectItems,
    values: &ItemValues,
) -> Result<Reply, Refusal> {
    let type_id = recorded.types.get(&item.id).copied();
    let shown = fields::custom_fields(job, type_id, values).await?;
    let added = asked_for(job, item, recorded).await?;
    in_full(job, item, recorded, values, CustomFields::Shown(&shown), &added)
}

fn in_full(
    job: &InProject<'_>,
    item: &Item,
    recorded: &ProjectItems,
    values: &ItemValues,
    custom_fields: CustomFields<'_>,
    added: &[(String, Expanded)],
) -> Result<Reply, Refusal> {
    let type_id = recorded.types.get(&item.id).copied();
    let mut json = Vec::with_capacity(USUAL_SIZE);
    work_items_text::write(&mut json, item, &job.card.identifier, type_id, custom_fields, added);
    let version = job.item_version(item, recorded, values)?;
    // A value is shown with the name of its property, option, person or work item.
    let shows_others = !added.is_empty() || !values.is_empty();
    Ok(Reply::json(job.operation().status, json).of_version(version).showing_others(shows_others))
}

/// Returns the keys that the query adds to one item.
pub(in crate::run) async fn asked_for(
    job: &InProject<'_>,
    item: &Item,
    recorded: &ProjectItems,
) -> Result<Added, Refusal> {
    let added = expand(job, std::slice::from_ref(item), recorded, &wanted(job)?).await?;
    Ok(added.into_iter().next().unwrap_or_default())
}

/// Returns the expansions that the query asks for.
pub(in crate::run) fn wanted(job: &InProject<'_>) -> Result<Vec<usize>, Refusal> {
    query::read_single(declaring(job), &job.call.parameters)
}

/// Returns the most calls that expanding the answer can take, with empty caches.
pub(in crate::run) fn calls(job: &InProject<'_>) -> Result<usize, Refusal> {
    let (plan, names) = (&job.runner.plan, &declaring(job).expand);
    let list = |index: usize| plan.list_of(outlook::expanded_from(names.get(index)?)?);
    Ok(wanted(job)?.into_iter().filter_map(list).map(|list| list.v1.len()).sum())
}

fn declaring<'j>(job: &'j InProject<'_>) -> &'j Operation {
    outlook::expanding(&job.runner.plan, job.operation())
}

/// Returns for each of `items` the keys that `wanted` (indices into the operation's `expand`) adds.
pub(in crate::run) async fn expand(
    job: &InProject<'_>,
    items: &[Item],
    recorded: &ProjectItems,
    wanted: &[usize],
) -> Result<Vec<Added>, Refusal> {
    let declaring = &declaring(job).expand;
    let mut added = vec![Added::new(); items.len()];
    for name in wanted.iter().filter_map(|&index| declaring.get(index)) {
        let values = match name.as_str() {
            "state" => states(job, items).await?,
            "labels" => labels(job, items).await?,
            "assignees" => assignees(job, items).await?,
            "parent" => parents(job, items).await?,
            "type" => {
                let types = fields::expanded(job, items, recorded).await?;
                types.iter().map(|kind| Expanded::One(written_once(kind))).collect()
            }
            other => return Err(Refusal::internal(format!("nothing expands {other}"))),
        };
        for (keys, value) in added.iter_mut().zip(values) {
            keys.push((name.clone(), value));
        }
    }
    Ok(added)
}

async fn states(job: &InProject<'_>, items: &[Item]) -> Result<Vec<Expanded>, Refusal> {
    let keys = ["id", "name", "color", "group"];
    let all = of(job, Known::States, items, |item| std::slice::from_ref(&item.state)).await?;
    let mut shown = Leaves::default();
    for item in items.iter().filter(|item| !item.state.is_nil()) {
        if let Entry::Vacant(place) = shown.0.entry(item.state) {
            place.insert(match all.get(item.state) {
                Some(held) => leaf(held, &keys),
                None => {
                    let beside = unlisted_states::of_item(job, &all, item.state, item.id).await?;
                    written_once(&beside.map_or(Value::Null, |shown| only(&shown, &keys)))
                }
            });
        }
    }
    Ok(items.iter().map(|item| shown.one(Some(item.state))).collect())
}

/// Expands labels. Labels that v1 does not list any more are deleted, and left out.
async fn labels(job: &InProject<'_>, items: &[Item]) -> Result<Vec<Expanded>, Refusal> {
    let all = of(job, Known::Labels, items, |item| &item.labels).await?;
    let named: HashSet<Uuid> = items.iter().flat_map(|item| item.labels.iter().copied()).collect();
    let leaf = |id| Some((id, leaf(all.get(id)?, &["id", "name", "color"])));
    let shown = Leaves(named.into_iter().filter_map(leaf).collect());
    Ok(items.iter().map(|item| shown.many(&item.labels)).collect())
}

/// Returns a collection with all ids `named` by the items, as far as v1 shows them; reads nothing when there are none.
async fn of<'i>(
    job: &InProject<'_>,
    resource: Known,
    items: &'i [Item],
    named: impl Fn(&'i Item) -> &'i [Uuid],
) -> Result<Arc<Collection>, Refusal> {
    let ids = items.iter().flat_map(|item| named(item).iter().copied());
    let ids: HashSet<Uuid> = ids.filter(|id| !id.is_nil()).collect();
    if ids.is_empty() {
        return Ok(Arc::new(Collection::new(Vec::new())));
    }
    let known = |all: &Collection, id: Uuid| all.get(id).is_some() || all.beside(id).is_some();
    list::load_with(job, job.resource_named(resource)?, |all| ids.iter().all(|id| known(all, *id))).await
}

/// Records in the form of an expansion, by their ids.
#[derive(Default)]
struct Leaves(HashMap<Uuid, Arc<str>>);

impl Leaves {
    /// Returns the record with this id; null if there is none.
    fn one(&self, id: Option<Uuid>) -> Expanded {
        let found = id.and_then(|id| self.0.get(&id)).cloned();
        Expanded::One(found.unwrap_or_else(|| "null".into()))
    }

    /// Returns the records of `ids` that exist.
    fn many(&self, ids: &[Uuid]) -> Expanded {
        Expanded::Many(ids.iter().filter_map(|id| self.0.get(id).cloned()).collect())
    }
}

fn written_once(value: &Value) -> Arc<str> {
    value.to_string().into()
}

fn leaf(held: &Held, keys: &[&str]) -> Arc<str> {
    written_once(&only(&held.v2_members(), keys))
}

fn only(record: &Map<String, Value>, keys: &[&str]) -> Value {
    keys.iter().map(|key| ((*key).to_owned(), record.get(*key).cloned().unwrap_or_default())).collect()
}

/// Expands assignees. People whom v1 does not list in the project any more are left out.
async fn assignees(job: &InProject<'_>, items: &[Item]) -> Result<Vec<Expanded>, Refusal> {
    let ids: HashSet<Uuid> = items.iter().flat_map(|item| item.assignees.iter().copied()).collect();
    if ids.is_empty() {
        return Ok(vec![Expanded::Many(Vec::new()); items.len()]);
    }
    let known = |people: &[members::Person]| ids.is_subset(&people.iter().map(|person| person.id).collect());
    let people = job.project_people_with(known).await?;
    let named = people.iter().filter(|person| ids.contains(&person.id));
    let shown = Leaves(named.map(|person| (person.id, written_once(&members::shown(person)))).collect());
    Ok(items.iter().map(|item| shown.many(&item.assignees)).collect())
}

async fn parents(job: &InProject<'_>, items: &[Item]) -> Result<Vec<Expanded>, Refusal> {
    let mut known: HashMap<Uuid, Value> = HashMap::new();
    let mut unknown: Vec<(Uuid, Uuid)> = Vec::new();
    for (id, child) in items.iter().filter_map(|item| Some((item.parent?, item.id))) {
        if known.contains_key(&id) || unknown.iter().any(|(asked, _)| *asked == id) {
            continue;
        }
        match items.iter().find(|item| item.id == id).cloned().or_else(|| job.item_in_fresh_index(id)) {
            Some(item) => drop(known.insert(id, parent(id, &item.name, item.sequence_id))),
            None => unknown.push((id, child)),
        }
    }
    if unknown.len() > SINGLE_READS {
        known.extend(walk(job, &unknown).await?);
    }
    for (id, child) in unknown {
        if let Entry::Vacant(place) = known.entry(id) {
            place.insert(read(job, id, child).await?);
        }
    }
    let shown = Leaves(known.iter().map(|(id, parent)| (*id, written_once(parent))).collect());
    Ok(items.iter().map(|item| shown.one(item.parent)).collect())
}

fn parent(id: Uuid, name: &str, sequence_id: i64) -> Value {
    json!({"id": id, "name": name, "sequence_id": sequence_id})
}

/// Returns one parent. The store knows the name of a hidden parent that was archived through the gateway in the same
/// project. Any other hidden parent is shown only by its child, without a name (trap 50, `lists_expand_parent`).
///
/// # Errors
/// `upstream_error` when the child does not show it either: null would mean that there is no parent.
async fn read(job: &InProject<'_>, id: Uuid, child: Uuid) -> Result<Value, Refusal> {
    match job.read_item(id).await {
        Ok(item) => Ok(parent(id, &item.name, item.sequence_id)),
        Err(Refusal::NotFound { .. }) => {
            if let Some((name, number)) = job.runner.store.archived_names(job.card.id, &[id]).await?.get(&id) {
                return Ok(parent(id, name, *number));
            }
            let child = job.read_record_fields(child, CHILD).await?;
            let row = Row::deserialize(&child).map_err(Refusal::internal)?;
            let shown = row.hidden_parent().filter(|(above, _)| *above == id);
            shown.map(|(_, value)| value).ok_or_else(|| {
                let cause = format!("{} does not expand its parent {id}", row.id);
                Refusal::upstream("The parent of a work item could not be read.", cause)
            })
        }
        Err(other) => Err(other),
    }
}

#[derive(Deserialize)]
struct Row {
    id: Uuid,
    #[serde(default)]
    name: String,
    #[serde(default)]
    sequence_id: i64,
    parent: Option<ExpandedParent>,
}

/// An expanded parent; null becomes an object without id (trap 49, `items_get_expand_nulls`).
#[derive(Deserialize)]
struct ExpandedParent {
    id: Option<Uuid>,
    sequence_id: Option<i64>,
}

impl Row {
    fn hidden_parent(&self) -> Option<(Uuid, Value)> {
        let above = self.parent.as_ref()?;
        Some((above.id?, parent(above.id?, "", above.sequence_id?)))
    }
}

/// Finds all of `wanted` in one walk: live parents are rows themselves, hidden ones are shown by their children.
async fn walk(job: &InProject<'_>, wanted: &[(Uuid, Uuid)]) -> Result<HashMap<Uuid, Value>, Refusal> {
    let rows: Vec<Row> = job.all_records(job.work_items()?, ROWS).await?;
    let wanted: HashSet<Uuid> = wanted.iter().map(|(id, _)| *id).collect();
    let (mut live, mut hidden) = (HashMap::new(), HashMap::new());
    for row in rows {
        hidden.extend(row.hidden_parent().filter(|(id, _)| wanted.contains(id)));
        if wanted.contains(&row.id) {
            live.insert(row.id, parent(row.id, &row.name, row.sequence_id));
        }
    }
    let unseen: Vec<Uuid> = wanted.iter().filter(|id| !live.contains_key(*id)).copied().collect();
    if !unseen.is_empty() {
        let names = job.runner.store.archived_names(job.card.id, &unseen).await?;
        hidden.extend(names.iter().map(|(id, (name, number))| (*id, parent(*id, name, *number))));
    }
    hidden.extend(live);
    Ok(hidden)
}

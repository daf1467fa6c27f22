//! Names and ids in the body of a work item, resolved before anything is written.
//!
//! v1 accepts ids only, silently drops people and labels that do not belong to the project (trap 15,
//! `items_create_assignee_not_in_project`, `items_create_label_other_project`) and knows no names. A name
//! is compared without regard to case and must match exactly one record.
//!
//! v1 refuses parents of other projects and allows self-references and loops (trap 30,
//! `items_create_parent_other_project`, `items_patch_parent_self_accepted`, `items_patch_parent_loop_accepted`). It has
//! no list of estimate points; a value is only visible by expanding the point on an item that has it (trap 55,
//! `estimates_list_expanded`). A value that no item shows cannot be resolved: a known gap with its own 400. May use:
//! what `run` may use.

use crate::access::Role;
use crate::index::Index;
use crate::plan::{HumanKey, Known};
use crate::refusal::{FieldError, Refusal};
use crate::run::items::fields::{self, Asked};
use crate::run::items::unlisted_states;
use crate::run::job::InProject;
use crate::run::kept::collection::Collection;
use crate::run::members::{Members, as_id, ids, unless_missing};
use crate::run::reads::list;
use crate::store::OwnWrite;
use crate::translate::members::{self, Person};
use crate::translate::work_items::Item;
use crate::translate::work_items_write;
use crate::v2::body::Given;
use crate::v2::value::{small_letters, trimmed};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use uuid::Uuid;

/// Most work items above a parent that are read one by one; v1 sets no limit to the levels. Beyond this, the index is
/// used, which takes one call for 1,000 items.
const PARENT_READS: usize = 50;
const UNKNOWN_PARENT: &str = "names no live work item of this project; a parent in another project cannot be stored by \
                              the service behind";
const POINTS: &str = "fields=id,estimate_point&expand=estimate_point";

/// Result of looking up a member that names another record.
enum LookedUp {
    NotSent,
    /// The value to send to v1.
    Found(Value),
    /// A value that the item seems to have already, and that could not be given to another item.
    Kept(Value),
    /// The error: the member names no acceptable record.
    Wrong(FieldError),
}

impl LookedUp {
    fn wrong(member: &str, message: impl Into<String>) -> Self {
        Self::Wrong(FieldError::new(member, message))
    }
}

/// A resolved body.
pub(in crate::run) struct Resolved {
    /// The members to send to v1.
    pub body: Members,
    /// The data for the own store.
    pub own: OwnWrite,
    /// Whether it contains a value that the item seems to have already, and that could not be given to another item.
    pub keeps: bool,
}

/// Resolves the given members to v1's names and ids; `stored` is the item being updated and its type.
///
/// # Errors
/// `validation_error` with every name or id that does not resolve, and every error of custom values.
pub(in crate::run) async fn resolve(
    job: &InProject<'_>,
    given: &Given,
    stored: Option<(&Item, Option<Uuid>)>,
) -> Result<Resolved, Refusal> {
    let (stored, type_id) = (stored.map(|(item, _)| item), stored.map(|(_, type_id)| type_id));
    let ForV1 { body, wrong, keeps } = for_v1(job, given, stored).await?;
    let Asked { own, mut errors, .. } = fields::ask(job, given, type_id).await?;
    errors.extend(wrong);
    if errors.is_empty() { Ok(Resolved { body, own, keeps }) } else { Err(Refusal::fields(errors)) }
}

/// The members of a body that v1 stores.
pub(in crate::run) struct ForV1 {
    /// The members to send to v1.
    pub body: Members,
    /// The names and ids that do not resolve.
    pub wrong: Vec<FieldError>,
    keeps: bool,
}

/// Resolves the given members that v1 stores; `stored` is the item being updated.
///
/// # Errors
/// `validation_error` for members that are faulty without a look-up.
pub(in crate::run) async fn for_v1(
    job: &InProject<'_>,
    given: &Given,
    stored: Option<&Item>,
) -> Result<ForV1, Refusal> {
    let (sent, runner) = (given.clone(), Arc::clone(&job.runner));
    let (resource, size) = (job.operation().resource, job.body_size());
    let plain = move || work_items_write::plain(&runner.plan.resources[resource], &sent);
    let mut body = job.sanitising(size, plain).await??;
    let looked_up = [
        ("state", state(job, given, stored).await?),
        ("parent", parent(job, given, stored).await?),
        ("assignees", assignees(job, given, stored.is_some()).await?),
        ("labels", labels(job, given).await?),
        ("estimate_point", estimate_point(job, given).await?),
    ];
    let (mut wrong, mut keeps) = (Vec::new(), false);
    for (key, found) in looked_up {
        keeps |= matches!(found, LookedUp::Kept(_));
        match found {
            LookedUp::Found(value) | LookedUp::Kept(value) => drop(body.insert(key.to_owned(), value)),
            LookedUp::Wrong(error) => wrong.push(error),
            LookedUp::NotSent => {}
        }
    }
    Ok(ForV1 { body, wrong, keeps })
}

async fn state(job: &InProject<'_>, given: &Given, stored: Option<&Item>) -> Result<LookedUp, Refusal> {
    let states = job.resource_named(Known::States)?;
    if let Some(id) = given.get("state_id").and_then(as_id) {
        return Ok(match list::find(job, states, id).await? {
            Some(_) => LookedUp::Found(text_of(id)),
            // v1 does not list every state that items are in (trap 37).
            None if stored.is_some_and(|item| item.state == id) => LookedUp::Kept(text_of(id)),
            None => LookedUp::wrong("state_id", "names no state of this project"),
        });
    }
    let Some(name) = given.get("state").and_then(Value::as_str) else { return Ok(LookedUp::NotSent) };
    let named = |all: &Collection| by_names(all).get(&folded(name)).cloned().unwrap_or_default();
    let all = list::load_with(job, states, |all| named(all).len() == 1).await?;
    Ok(match named(&all).as_slice() {
        [id] => LookedUp::Found(text_of(*id)),
        [] => match unlisted(job, &all, stored, name).await? {
            Some(id) => LookedUp::Kept(text_of(id)),
            None => LookedUp::wrong("state", "names no state of this project; use state_id"),
        },
        _ => LookedUp::wrong("state", "names several states of this project; use state_id"),
    })
}

/// Returns the state of the item if `states` does not list it and its name is `name`: a client may send back the value
/// that it was shown.
async fn unlisted(
    job: &InProject<'_>,
    states: &Collection,
    stored: Option<&Item>,
    name: &str,
) -> Result<Option<Uuid>, Refusal> {
    let Some(item) = stored.filter(|item| !item.state.is_nil() && states.get(item.state).is_none()) else {
        return Ok(None);
    };
    let shown = unlisted_states::of_item(job, states, item.state, item.id).await?;
    let shown = shown.as_ref().and_then(|shown| shown.get("name")?.as_str());
    Ok(shown.filter(|shown| folded(shown) == folded(name)).map(|_| item.state))
}

async fn labels(job: &InProject<'_>, given: &Given) -> Result<LookedUp, Refusal> {
    let sent = given.get("label_ids").or_else(|| given.get("labels"));
    if sent.and_then(Value::as_array).is_some_and(Vec::is_empty) {
        // No names or ids to look up.
        return Ok(LookedUp::Found(Value::Array(Vec::new())));
    }
    let labels = job.resource_named(Known::Labels)?;
    if let Some(ids) = given.get("label_ids").map(ids) {
        let known = |all: &Collection, id: &Uuid| all.get(*id).is_some();
        let all = list::load_with(job, labels, |all| ids.iter().all(|id| known(all, id))).await?;
        let unknown: Vec<String> = ids.iter().filter(|id| !known(&all, id)).map(Uuid::to_string).collect();
        return Ok(all_or(ids, "label_ids", "names no labels of this project", &unknown));
    }
    let Some(names) = given.get("labels").map(texts) else { return Ok(LookedUp::NotSent) };
    let complete = |all: &Collection| one_each(&names, by_names(all)).1.is_empty();
    let all = list::load_with(job, labels, complete).await?;
    let (found, failed) = one_each(&names, by_names(&all));
    Ok(all_or(found, "labels", "must each name exactly one label of this project; use label_ids", &failed))
}

async fn assignees(job: &InProject<'_>, given: &Given, update: bool) -> Result<LookedUp, Refusal> {
    // `sent` has the texts of the client for all of `found`, if all are found.
    let (member, sent, found, failed, advice) = if let Some(ids) = given.get("assignee_ids").map(ids) {
        let unlisted = |people: &[Person]| {
            let listed: HashSet<Uuid> = people.iter().map(|person| person.id).collect();
            ids.iter().filter(|id| !listed.contains(id)).map(Uuid::to_string).collect::<Vec<_>>()
        };
        let people = roster_for(job, &ids, |people| unlisted(people).is_empty()).await?;
        let unknown = unlisted(&people);
        let sent = ids.iter().map(Uuid::to_string).collect();
        ("assignee_ids", sent, ids, unknown, "must be members of this project")
    } else if let Some(emails) = given.get("assignees").map(texts) {
        let complete = |people: &[Person]| one_each(&emails, &by_emails(people)).1.is_empty();
        let people = roster_for(job, &emails, complete).await?;
        let (found, failed) = one_each(&emails, &by_emails(&people));
        (
            "assignees",
            emails,
            found,
            failed,
            "must each be the address of exactly one member of this project; use assignee_ids",
        )
    } else {
        return Ok(LookedUp::NotSent);
    };
    if failed.is_empty() && update && !found.is_empty() {
        let guests = guests_of_workspace(job).await;
        let of_guests = found.iter().zip(sent).filter(|(id, _)| guests.contains(id));
        let guests: Vec<String> = of_guests.map(|(_, sent)| sent).collect();
        return Ok(all_or(found, member, "guests cannot be assigned", &guests));
    }
    Ok(all_or(found, member, advice, &failed))
}

/// Returns the roster; empty when no person is wanted.
async fn roster_for<T>(
    job: &InProject<'_>,
    wanted: &[T],
    complete: impl Fn(&[Person]) -> bool,
) -> Result<Arc<Vec<Person>>, Refusal> {
    if wanted.is_empty() {
        return Ok(Arc::default());
    }
    job.project_people_with(complete).await
}

/// Returns the guests of the workspace. v1 drops guests, and an update whose assignees are all dropped clears the set
/// (trap 15, `items_patch_assignees_invalid_dropped`). A create can be undone, an update cannot. So people whom the
/// workspace's roster shows as guests are refused first; when the roster is not visible, no guest is known.
async fn guests_of_workspace(job: &InProject<'_>) -> HashSet<Uuid> {
    let (access, call, age) = (&job.runner.access, &job.call, job.runner.settings.cache.card);
    let roster = access.roster_within(&call.caller, job.slug(), age, &call.ctx).await;
    let people = roster.ok().and_then(|(_, roster)| members::read(&roster?).ok());
    let guests = people.into_iter().flatten().filter(|person| person.role == Some(Role::GUEST.0));
    guests.map(|person| person.id).collect()
}

fn all_or(found: Vec<Uuid>, member: &str, what: &str, failed: &[String]) -> LookedUp {
    if failed.is_empty() {
        let mut seen = HashSet::new();
        return LookedUp::Found(found.into_iter().filter(|id| seen.insert(*id)).map(text_of).collect());
    }
    LookedUp::wrong(member, format!("{what}: {}", failed.join(", ")))
}

/// Returns the one match of each name, and the names with no match or several.
fn one_each(names: &[String], known: &Named) -> (Vec<Uuid>, Vec<String>) {
    let (mut found, mut failed) = (Vec::new(), Vec::new());
    for name in names {
        match known.get(&folded(name)).map(Vec::as_slice) {
            Some([id]) => found.push(*id),
            _ => failed.push(name.clone()),
        }
    }
    (found, failed)
}

/// Record ids by their comparable names: a body may contain many names, and the records are gone through only once.
type Named = HashMap<String, Vec<Uuid>>;

fn folded(name: &str) -> String {
    small_letters(trimmed(name))
}

fn by_names(all: &Collection) -> &Named {
    all.by_name(folded)
}

fn by_emails(people: &[Person]) -> Named {
    let mut named = Named::new();
    for person in people {
        if let Some(email) = &person.email {
            named.entry(folded(email)).or_default().push(person.id);
        }
    }
    named
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn text_of(id: Uuid) -> Value {
    id.to_string().into()
}

/// Resolves the parent in `parent_id` or `parent`, including null; `NotSent` when neither was sent.
async fn parent(job: &InProject<'_>, given: &Given, stored: Option<&Item>) -> Result<LookedUp, Refusal> {
    let (member, found) = match (given.get("parent_id"), given.get("parent").and_then(Value::as_str)) {
        (Some(Value::Null), _) => return Ok(LookedUp::Found(Value::Null)),
        (Some(id), _) => {
            let Some(id) = as_id(id) else { return Ok(LookedUp::NotSent) };
            if stored.is_some_and(|item| item.parent == Some(id)) {
                return Ok(LookedUp::Found(text_of(id)));
            }
            ("parent_id", unless_missing(job.live_item(id).await)?)
        }
        (None, Some(key)) => ("parent", by_key(job, key).await?),
        (None, None) => return Ok(LookedUp::NotSent),
    };
    let Some(parent) = found else {
        let advice = if member == "parent" { "; use parent_id" } else { "" };
        return Ok(LookedUp::wrong(member, format!("{UNKNOWN_PARENT}{advice}")));
    };
    if let Some(own) = stored
        && meets_above(job, &parent, own.id).await?
    {
        return Ok(LookedUp::wrong(member, "is the work item itself or one below it"));
    }
    Ok(LookedUp::Found(text_of(parent.id)))
}

async fn by_key(job: &InProject<'_>, key: &str) -> Result<Option<Item>, Refusal> {
    let Some(key) = HumanKey::in_body(trimmed(key)) else { return Ok(None) };
    match job.identifier_checked_against([&*key.project]).await? == key.project {
        true => unless_missing(job.own_item_by_key(&key).await),
        false => Ok(None),
    }
}

/// Checks whether `own` is among the ancestors of `start`, as parents are now: the write holds the rule's turn. The
/// walk continues over items archived through the gateway, whose parent is stored, and ends at other items hidden by
/// v1.
async fn meets_above(job: &InProject<'_>, start: &Item, own: Uuid) -> Result<bool, Refusal> {
    let mut seen = HashSet::from([start.id]);
    let mut reads = 0;
    let mut index: Option<Arc<Index>> = None;
    let (mut id, mut above) = (start.id, start.parent);
    loop {
        if id == own || above == Some(own) {
            return Ok(true);
        }
        let Some(next) = above.filter(|next| seen.insert(*next)) else { return Ok(false) };
        if index.is_none() && reads == PARENT_READS {
            index = Some(job.newest_index().await?);
        }
        let live = match (&index, job.item_in_fresh_index(next)) {
            (Some(index), _) => index.get(next),
            (None, Some(item)) => Some(item),
            (None, None) => {
                reads += 1;
                unless_missing(job.read_item(next).await)?
            }
        };
        match live {
            Some(item) => (id, above) = (item.id, item.parent),
            None => (id, above) = (next, job.runner.store.archived_parent(next).await?),
        }
    }
}

/// A row of the list; for an item without a point, the point has no id (trap 49, `items_get_expand_nulls`).
#[derive(Deserialize)]
struct Row {
    estimate_point: Option<Point>,
}

#[derive(Deserialize)]
struct Point {
    id: Option<Uuid>,
    value: Option<String>,
    estimate: Option<Uuid>,
}

/// Resolves the point in `estimate_point_id` or `estimate`, including null; `NotSent` when neither was sent.
async fn estimate_point(job: &InProject<'_>, given: &Given) -> Result<LookedUp, Refusal> {
    let none = |member| Ok(LookedUp::wrong(member, "this project has no active estimate"));
    match (given.get("estimate_point_id"), given.get("estimate").and_then(Value::as_str), job.card.estimate) {
        (Some(Value::Null), ..) => Ok(LookedUp::Found(Value::Null)),
        (None, None, _) => Ok(LookedUp::NotSent),
        (_, Some(value), Some(estimate)) => point_of_value(job, estimate, value).await,
        (_, Some(_), None) => none("estimate"),
        (_, None, None) => none("estimate_point_id"),
        // v1 checks whether the point belongs to the project (`estimates_create_foreign_point`).
        (Some(id), None, Some(_)) => Ok(LookedUp::Found(id.clone())),
    }
}

async fn point_of_value(job: &InProject<'_>, estimate: Uuid, value: &str) -> Result<LookedUp, Refusal> {
    let wanted = folded(value);
    let rows: Vec<Row> = job.all_records(job.work_items()?, POINTS).await?;
    let mut hits: Vec<Uuid> = Vec::new();
    for point in rows.into_iter().filter_map(|row| row.estimate_point) {
        let of_value = point.value.is_some_and(|value| folded(&value) == wanted);
        if let Some(id) = point.id.filter(|id| of_value && point.estimate == Some(estimate) && !hits.contains(id)) {
            hits.push(id);
        }
    }
    Ok(match hits.as_slice() {
        [id] => LookedUp::Found(text_of(*id)),
        [] => LookedUp::wrong(
            "estimate",
            "no work item shows a point of this value, so it cannot be looked up; use estimate_point_id",
        ),
        _ => LookedUp::wrong("estimate", "names several points; use estimate_point_id"),
    })
}

//! Lists of work items: orders, the look-up by external pair, the key look-up, the search, and the
//! lists inside cycles and modules. Uses the store, the paging and the work item shape.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use crate::door::call::Call;
use crate::door::http::{Answer, Reply};
use crate::forms::item_shape::render;
use crate::forms::values;
use crate::lists::paging::paginate_counted;
use crate::records::kinds::{Item, Label, User};
use crate::records::store::World;
use crate::records::table::Id;
use crate::views::items::PRIORITIES;

/// A value that rows are ordered by; none comes last ascending and first descending.
#[derive(Debug, Clone, PartialEq)]
enum Key {
    Number(f64),
    Whole(i64),
    Text(String),
    Id(Id),
}

impl Key {
    fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            (Self::Whole(a), Self::Whole(b)) => a.cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Id(a), Self::Id(b)) => a.cmp(b),
            _ => Ordering::Equal,
        }
    }
}

fn compare(a: &Option<Key>, b: &Option<Key>, descending: bool) -> Ordering {
    let order = match (a, b) {
        (Some(a), Some(b)) => a.compare(b),
        (a, b) => a.is_none().cmp(&b.is_none()),
    };
    if descending { order.reverse() } else { order }
}

/// Micros, the same for every kind of instant.
fn at(instant: Timestamp) -> Key {
    Key::Whole(instant.as_microsecond())
}

fn day(date: jiff::civil::Date) -> Key {
    Key::Text(date.to_string())
}

fn rank(list: &[&str], value: &str) -> Option<Key> {
    let place = list.iter().position(|entry| *entry == value)?;
    i64::try_from(place).ok().map(Key::Whole)
}

/// The keys a field gives a work item; a relation to many gives one for each, or none at all.
type KeysOf = fn(&World, &Item) -> Vec<Option<Key>>;

fn user_age(world: &World, user: Option<Id>) -> Vec<Option<Key>> {
    let age = user.map(|user| world.users.position(user));
    vec![age.and_then(|age| i64::try_from(age).ok()).map(Key::Whole)]
}

fn of_assignees(world: &World, item: &Item, text: fn(&User) -> String) -> Vec<Option<Key>> {
    let people = item.assignees.iter();
    people.filter_map(|&user| world.users.get(user)).map(|user| Some(Key::Text(text(user)))).collect()
}

fn of_labels(world: &World, item: &Item, key: fn(&Label) -> Key) -> Vec<Option<Key>> {
    let labels = item.labels.iter();
    labels.filter_map(|&label| world.labels.get(label)).map(|label| Some(key(label))).collect()
}

/// The plain meaning of a field name; `None` is a name the database does not know, which is a 500
/// (`lists_order_unknown`).
fn plain(field: &str) -> Option<KeysOf> {
    Some(match field {
        "id" | "pk" => |_, i| vec![Some(Key::Id(i.id))],
        "created_at" => |_, i| vec![Some(at(i.created_at))],
        "updated_at" => |_, i| vec![Some(at(i.updated_at))],
        "completed_at" => |_, i| vec![i.completed_at.map(at)],
        "deleted_at" => |_, i| vec![i.deleted_at.map(at)],
        "archived_at" => |_, i| vec![i.archived_at.map(day)],
        "start_date" => |_, i| vec![i.start_date.map(day)],
        "target_date" => |_, i| vec![i.target_date.map(day)],
        "sequence_id" => |_, i| vec![Some(Key::Whole(i.sequence_id))],
        "sort_order" => |_, i| vec![Some(Key::Number(i.sort_order))],
        "point" => |_, i| vec![i.point.map(Key::Whole)],
        "is_draft" => |_, i| vec![Some(Key::Whole(i64::from(i.is_draft)))],
        "name" => |_, i| vec![Some(Key::Text(i.name.clone()))],
        "description_html" => |_, i| vec![Some(Key::Text(i.description_html.clone()))],
        "priority" => |_, i| vec![Some(Key::Text(i.priority.to_owned()))],
        "external_id" => |_, i| vec![i.external.id.clone().map(Key::Text)],
        "external_source" => |_, i| vec![i.external.source.clone().map(Key::Text)],
        "created_by" => |w, i| user_age(w, i.created_by),
        "updated_by" => |w, i| user_age(w, i.updated_by),
        "created_by_id" => |_, i| vec![i.created_by.map(Key::Id)],
        "updated_by_id" => |_, i| vec![i.updated_by.map(Key::Id)],
        "project" | "project_id" | "workspace" | "workspace_id" => |_, i| vec![Some(Key::Id(i.project))],
        "parent" => |w, i| {
            let parent = i.parent.and_then(|id| w.items.any(id));
            vec![parent.map(|parent| at(parent.created_at))]
        },
        "parent_id" => |_, i| vec![i.parent.map(Key::Id)],
        "parent__sequence_id" => |w, i| {
            let parent = i.parent.and_then(|id| w.items.any(id));
            vec![parent.map(|parent| Key::Whole(parent.sequence_id))]
        },
        // By the states' own order (`lists_order_state`).
        "state" | "state__sequence" => |w, i| vec![w.states.any(i.state).map(|s| Key::Number(s.sequence))],
        "state_id" => |_, i| vec![Some(Key::Id(i.state))],
        "state__group" => |w, i| vec![w.states.any(i.state).map(|s| Key::Text(s.group.clone()))],
        "state__name" => |w, i| vec![w.states.any(i.state).map(|s| Key::Text(s.name.clone()))],
        "type" | "type_id" => |_, i| vec![i.type_id.map(Key::Id)],
        "estimate_point" | "estimate_point__key" | "estimate_point__value" => |w, i| {
            let mut points = w.estimate_points.iter();
            let point = i.estimate_point.and_then(|id| points.find(|p| p.id == id));
            vec![point.map(|point| Key::Whole(point.key))]
        },
        "assignees" | "assignees__id" => |w, i| {
            let people = i.assignees.iter();
            people.flat_map(|&user| user_age(w, Some(user))).collect()
        },
        "assignees__email" => |w, i| of_assignees(w, i, |user| user.email.clone()),
        "assignees__display_name" => |w, i| of_assignees(w, i, |user| user.display_name.clone()),
        "assignees__first_name" => |w, i| of_assignees(w, i, |user| user.first_name.clone()),
        "assignees__last_name" => |w, i| of_assignees(w, i, |user| user.last_name.clone()),
        "labels__name" => |w, i| of_labels(w, i, |label| Key::Text(label.name.clone())),
        "labels__color" => |w, i| of_labels(w, i, |label| Key::Text(label.color.clone())),
        "labels__sort_order" => |w, i| of_labels(w, i, |label| Key::Number(label.sort_order)),
        "labels" | "labels__id" | "labels__created_at" => {
            |w, i| of_labels(w, i, |label| at(label.stamp.created_at))
        }
        _ => return None,
    })
}

/// The largest of the keys, for orders that do not repeat rows.
fn largest(keys: Vec<Option<Key>>) -> Vec<Option<Key>> {
    let mut keys = keys.into_iter().flatten();
    let first = keys.next();
    vec![first.map(|first| {
        keys.fold(first, |most, key| if key.compare(&most) == Ordering::Greater { key } else { most })
    })]
}

/// The meaning of a field name in a project's list: priority and the two state names go by rank
/// (`lists_order_priority`, `lists_order_state__name`), two relations do not repeat rows
/// (`lists_order_labels__name`).
fn in_project(field: &str) -> Option<KeysOf> {
    Some(match field {
        "priority" => |_, i| vec![rank(&PRIORITIES, i.priority)],
        "state__group" | "state__name" => |w, i| {
            let groups = ["backlog", "unstarted", "started", "completed", "cancelled"];
            let state = w.states.any(i.state);
            vec![state.and_then(|state| rank(&groups, &state.group))]
        },
        "labels__name" => |w, i| largest(of_labels(w, i, |label| Key::Text(label.name.clone()))),
        "assignees__first_name" => |w, i| largest(of_assignees(w, i, |user| user.first_name.clone())),
        other => return plain(other),
    })
}

/// Whether a text orders downwards, and the field. Ordering by a related record means its own order,
/// which for work items, people and labels is the newest first: such fields run the other way round,
/// rows without one included (`lists_order_parent`).
fn direction(text: &str) -> (bool, &str) {
    let (descending, field) = text.strip_prefix('-').map_or((false, text), |field| (true, field));
    let newest_first = matches!(field, "parent" | "created_by" | "updated_by" | "assignees" | "labels");
    (descending != newest_first, field)
}

/// Sorts work items, given by their positions. Ties go by `created_at`, then `updated_at`, both
/// ascending whatever the direction (`lists_order_desc_priority`). A relation to many repeats rows
/// (`lists_order_relation_duplicates_rows`).
fn sorted(world: &World, items: impl Iterator<Item = usize>, keys: KeysOf, descending: bool) -> Vec<u32> {
    let mut rows: Vec<(Option<Key>, Timestamp, Timestamp, u32)> = Vec::new();
    for index in items {
        let item = world.items.at(index);
        let Ok(position) = u32::try_from(index) else {
            continue;
        };
        let mut keys = keys(world, item);
        if keys.is_empty() {
            keys.push(None);
        }
        for key in keys {
            rows.push((key, item.created_at, item.updated_at, position));
        }
    }
    rows.sort_by(|a, b| compare(&a.0, &b.0, descending).then_with(|| (a.1, a.2, a.3).cmp(&(b.1, b.2, b.3))));
    rows.into_iter().map(|row| row.3).collect()
}

fn page(call: &Call<'_>, world: &World, total: usize, order: &[u32]) -> Answer {
    let shape = call.shape();
    paginate_counted(&call.query, total, order.len(), |row| {
        let item = world.items.at(order[row] as usize);
        call.write(&shape, world, item, render)
    })
}

/// `GET work-items/`: newest first unless `order_by` says otherwise. With both halves of an external
/// pair it is a look-up that answers one object and finds archived, draft and triage items too
/// (`items_find_by_external_pair`, `archived_find_by_external_pair`).
pub(crate) fn list(call: &Call<'_>, world: &World) -> Answer {
    let project = call.place.project;
    let half = |name: &str| call.query.get(name).filter(|text| !text.is_empty());
    if let (Some(id), Some(source)) = (half("external_id"), half("external_source")) {
        let mut matches = world.items.of(project).filter(|item| {
            item.external.id.as_deref() == Some(id) && item.external.source.as_deref() == Some(source)
        });
        let item = matches.next().ok_or_else(Reply::not_found)?;
        // Two with the same pair break the look-up (`items_find_by_shared_external_pair`).
        if matches.next().is_some() {
            return Err(Reply::crash());
        }
        return Ok(Reply::ok(call.write(&call.shape(), world, item, render)));
    }
    let text = call.query.get("order_by").unwrap_or("-created_at");
    let (descending, field) = direction(text);
    let keys = in_project(field).ok_or_else(Reply::crash)?;
    if !world.readable(project) {
        return page(call, world, 0, &[]);
    }
    let order: Arc<Vec<u32>> = world.remembered_order(project, text, || {
        let visible = world.items.indexes_of(project).iter().copied();
        let visible = visible.filter(|&index| world.shown(world.items.at(index)));
        sorted(world, visible, keys, descending)
    });
    // Only orders through a relation can repeat rows; the total counts work items.
    let total = if field.starts_with("assignees") || field.starts_with("labels") {
        order.iter().collect::<HashSet<_>>().len()
    } else {
        order.len()
    };
    page(call, world, total, &order)
}

/// A list inside a cycle or module: the oldest first, every field by its plain order
/// (`lists_cycle_order_priority`), items of other projects left out.
///
/// Rows that tie come in another order on every page, so that walking the pages repeats some and
/// misses others; v1 was seen to do so with every key that is not unique. `id` and `sequence_id` are
/// safe.
pub(crate) fn list_within(call: &Call<'_>, world: &World, members: impl Iterator<Item = Id>) -> Answer {
    let text = call.query.get("order_by").unwrap_or("created_at");
    let (descending, field) = direction(text);
    let keys = plain(field).ok_or_else(Reply::crash)?;
    let project = call.place.project;
    let readable = world.readable(project);
    let visible: Vec<usize> = members
        .filter(|&id| {
            let item = world.items.get(id);
            readable && item.is_some_and(|item| item.project == project && world.shown(item))
        })
        .map(|id| world.items.position(id))
        .collect();
    let total = visible.len();
    let mut order = sorted(world, visible.into_iter(), keys, descending);
    if let Some(page) = call.query.get("cursor") {
        let key = |index: &u32| keys(world, world.items.at(*index as usize));
        for tied in order.chunk_by_mut(|a, b| key(a) == key(b)) {
            tied.sort_by_key(|&index| scramble(world.items.at(index as usize).id, page));
        }
    }
    page(call, world, total, &order)
}

/// A number that depends on the row and the page, without any meaning (FNV-1a).
fn scramble(id: Id, page: &str) -> u64 {
    let bytes = page.bytes().chain(id.into_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// `GET work-items/{KEY}-{n}/`: the number is read laxly (`items_key_zero_padded`,
/// `items_key_unicode_digits`); one that is none is a 500 (`items_key_not_a_number`).
pub(crate) fn by_key(call: &Call<'_>, world: &World) -> Answer {
    let (identifier, number) = &call.place.key;
    let number = values::whole(number).ok_or_else(Reply::crash)?;
    let workspace = world.workspace(&call.place.slug).ok_or_else(Reply::not_found)?;
    let project = world
        .projects
        .of(workspace.id)
        .find(|project| project.identifier == *identifier)
        .filter(|project| project.archived_at.is_none())
        .ok_or_else(Reply::not_found)?;
    let mut matches =
        world.items.of(project.id).filter(|item| i128::from(item.sequence_id) == number && world.shown(item));
    let item = matches.next().ok_or_else(Reply::not_found)?;
    // A number given twice breaks the look-up (`items_key_of_shared_number`).
    if matches.next().is_some() {
        return Err(Reply::crash());
    }
    Ok(Reply::ok(call.write(&call.shape(), world, item, render)))
}

/// The whole numbers that stand alone in a text (`search_by_key`).
fn numbers(text: &str) -> Vec<i64> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit()))
        .filter_map(|word| word.parse().ok())
        .collect()
}

/// `GET work-items/search/`: names by part, numbers, project identifiers by part; only projects the
/// caller is in, never a refusal (`search_by_workspace_outsider`).
pub(crate) fn search(call: &Call<'_>, world: &World) -> Answer {
    let query = &call.query;
    let limit = match query.get("limit") {
        None => 10,
        Some(text) => values::whole(text).ok_or_else(Reply::crash)?,
    };
    let limit = usize::try_from(limit).map_err(|_| Reply::crash())?;
    let text = query.get("search").unwrap_or_default();
    let workspace = world.workspace(&call.place.slug);
    let (Some(workspace), false) = (workspace, text.is_empty()) else {
        return Ok(Reply::ok(json!({ "issues": [] })));
    };
    let wide = query.get("workspace_search") == Some("true");
    let only = match query.get("project_id").filter(|id| !wide && !id.is_empty()) {
        Some(id) => Some(values::id(id).ok_or_else(Reply::bad_detail)?),
        None => None,
    };
    let part = text.to_lowercase();
    let wanted = numbers(text);
    let mut hits: Vec<(&Item, &str)> = Vec::new();
    for project in world.projects.of(workspace.id) {
        if only.is_some_and(|only| only != project.id)
            || project.archived_at.is_some()
            || world.active_member(project.id, call.user).is_none()
        {
            continue;
        }
        let all = project.identifier.to_lowercase().contains(&part);
        for item in world.items.of(project.id) {
            let hit = all || wanted.contains(&item.sequence_id) || item.name.to_lowercase().contains(&part);
            if hit && world.shown(item) {
                hits.push((item, &project.identifier));
            }
        }
    }
    hits.sort_by_key(|(item, _)| std::cmp::Reverse(item.created_at));
    let issues: Vec<_> = hits
        .into_iter()
        .take(limit)
        .map(|(item, identifier)| {
            json!({
                "name": item.name,
                "id": item.id,
                "sequence_id": item.sequence_id,
                "project__identifier": identifier,
                "project_id": item.project,
                "workspace__slug": workspace.slug,
            })
        })
        .collect();
    Ok(Reply::ok(json!({ "issues": issues })))
}

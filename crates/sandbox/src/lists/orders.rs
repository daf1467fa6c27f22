//! The orders of work items: the values by which each field name sorts. May use: `records`, `views`.

use std::cmp::Ordering;

use jiff::Timestamp;

use crate::records::kinds::{Item, Label, State, User};
use crate::records::store::World;
use crate::records::table::Id;
use crate::views::items::PRIORITIES;

/// A value by which rows are ordered. A missing value comes last in ascending and first in descending order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Key {
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

/// The key of an instant, in microseconds.
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

/// The keys that a field has for a work item. A to-many relation has one key for each record, or none.
pub(crate) type KeysOf = fn(&World, &Item) -> Vec<Option<Key>>;

fn parent<'w>(world: &'w World, item: &Item) -> Option<&'w Item> {
    item.parent.and_then(|id| world.items.any(id))
}

fn state<'w>(world: &'w World, item: &Item) -> Option<&'w State> {
    world.states.any(item.state)
}

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

/// The plain meaning of each field name.
const PLAIN: &[(&str, KeysOf)] = &[
    ("id|pk", |_, i| vec![Some(Key::Id(i.id))]),
    ("created_at", |_, i| vec![Some(at(i.created_at))]),
    ("updated_at", |_, i| vec![Some(at(i.updated_at))]),
    ("completed_at", |_, i| vec![i.completed_at.map(at)]),
    ("deleted_at", |_, i| vec![i.deleted_at.map(at)]),
    ("archived_at", |_, i| vec![i.archived_at.map(day)]),
    ("start_date", |_, i| vec![i.start_date.map(day)]),
    ("target_date", |_, i| vec![i.target_date.map(day)]),
    ("sequence_id", |_, i| vec![Some(Key::Whole(i.sequence_id))]),
    ("sort_order", |_, i| vec![Some(Key::Number(i.sort_order))]),
    ("point", |_, i| vec![i.point.map(Key::Whole)]),
    ("is_draft", |_, i| vec![Some(Key::Whole(i64::from(i.is_draft)))]),
    ("name", |_, i| vec![Some(Key::Text(i.name.clone()))]),
    ("description_html", |_, i| vec![Some(Key::Text(i.description_html.clone()))]),
    ("priority", |_, i| vec![Some(Key::Text(i.priority.to_owned()))]),
    ("external_id", |_, i| vec![i.external.id.clone().map(Key::Text)]),
    ("external_source", |_, i| vec![i.external.source.clone().map(Key::Text)]),
    ("created_by", |w, i| user_age(w, i.created_by)),
    ("updated_by", |w, i| user_age(w, i.updated_by)),
    ("created_by_id", |_, i| vec![i.created_by.map(Key::Id)]),
    ("updated_by_id", |_, i| vec![i.updated_by.map(Key::Id)]),
    ("project|project_id|workspace|workspace_id", |_, i| vec![Some(Key::Id(i.project))]),
    ("parent", |w, i| vec![parent(w, i).map(|parent| at(parent.created_at))]),
    ("parent_id", |_, i| vec![i.parent.map(Key::Id)]),
    ("parent__sequence_id", |w, i| vec![parent(w, i).map(|parent| Key::Whole(parent.sequence_id))]),
    // By the states' own order (`lists_order_state`).
    ("state|state__sequence", |w, i| vec![state(w, i).map(|state| Key::Number(state.sequence))]),
    ("state_id", |_, i| vec![Some(Key::Id(i.state))]),
    ("state__group", |w, i| vec![state(w, i).map(|state| Key::Text(state.group.clone()))]),
    ("state__name", |w, i| vec![state(w, i).map(|state| Key::Text(state.name.clone()))]),
    ("type|type_id", |_, i| vec![i.type_id.map(Key::Id)]),
    ("estimate_point|estimate_point__key|estimate_point__value", |w, i| {
        let mut points = w.estimate_points.iter();
        let point = i.estimate_point.and_then(|id| points.find(|p| p.id == id));
        vec![point.map(|point| Key::Whole(point.key))]
    }),
    ("assignees|assignees__id", |w, i| i.assignees.iter().flat_map(|&user| user_age(w, Some(user))).collect()),
    ("assignees__email", |w, i| of_assignees(w, i, |user| user.email.clone())),
    ("assignees__display_name", |w, i| of_assignees(w, i, |user| user.display_name.clone())),
    ("assignees__first_name", |w, i| of_assignees(w, i, |user| user.first_name.clone())),
    ("assignees__last_name", |w, i| of_assignees(w, i, |user| user.last_name.clone())),
    ("labels|labels__id|labels__created_at", |w, i| of_labels(w, i, |label| at(label.stamp.created_at))),
    ("labels__name", |w, i| of_labels(w, i, |label| Key::Text(label.name.clone()))),
    ("labels__color", |w, i| of_labels(w, i, |label| Key::Text(label.color.clone()))),
    ("labels__sort_order", |w, i| of_labels(w, i, |label| Key::Number(label.sort_order))),
];

/// Field names with another meaning in a project's list. Priority and the two state names are ordered by rank
/// (`lists_order_priority`, `lists_order_state__name`). Two relations do not repeat rows (`lists_order_labels__name`).
const IN_PROJECT: &[(&str, KeysOf)] = &[
    ("priority", |_, i| vec![rank(&PRIORITIES, i.priority)]),
    ("state__group|state__name", |w, i| vec![state(w, i).and_then(|state| rank(&GROUPS, &state.group))]),
    ("labels__name", |w, i| largest(of_labels(w, i, |label| Key::Text(label.name.clone())))),
    ("assignees__first_name", |w, i| largest(of_assignees(w, i, |user| user.first_name.clone()))),
];
const GROUPS: [&str; 5] = ["backlog", "unstarted", "started", "completed", "cancelled"];

/// The plain meaning of a field name; `None` for a name that the database does not know, which is a 500
/// (`lists_order_unknown`).
pub(crate) fn plain(field: &str) -> Option<KeysOf> {
    meaning(PLAIN, field)
}

/// The meaning of a field name in a project's list.
pub(crate) fn in_project(field: &str) -> Option<KeysOf> {
    meaning(IN_PROJECT, field).or_else(|| plain(field))
}

fn meaning(names: &[(&str, KeysOf)], field: &str) -> Option<KeysOf> {
    names.iter().find(|(names, _)| names.split('|').any(|name| name == field)).map(|(_, keys)| *keys)
}

/// The largest of the keys, for orders that do not repeat rows.
fn largest(keys: Vec<Option<Key>>) -> Vec<Option<Key>> {
    let mut keys = keys.into_iter().flatten();
    let first = keys.next();
    vec![first.map(|first| {
        keys.fold(first, |most, key| if key.compare(&most) == Ordering::Greater { key } else { most })
    })]
}

/// Returns whether a text orders downwards, and the field. An order by a related record uses the own order of
/// these records. For work items, people and labels this is newest first. So such fields have the opposite
/// direction, also for rows without a related record (`lists_order_parent`).
pub(crate) fn direction(text: &str) -> (bool, &str) {
    let (descending, field) = text.strip_prefix('-').map_or((false, text), |field| (true, field));
    let newest_first = matches!(field, "parent" | "created_by" | "updated_by" | "assignees" | "labels");
    (descending != newest_first, field)
}

/// Sorts work items, given by their positions. Ties are ordered by `created_at`, then `updated_at`, both
/// ascending in either direction (`lists_order_desc_priority`). A to-many relation repeats rows
/// (`lists_order_relation_duplicates_rows`).
pub(crate) fn sorted(
    world: &World,
    items: impl Iterator<Item = usize>,
    keys: KeysOf,
    descending: bool,
) -> Vec<u32> {
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

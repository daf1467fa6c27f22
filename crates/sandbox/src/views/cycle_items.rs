//! Work items in cycles: list, add (which moves), read, remove, transfer. May use: `door`, `forms`, `lists`,
//! `records`, this folder.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::door::body::{Body, Datum};
use crate::door::call::Call;
use crate::door::http::{Answer, Reply};
use crate::forms::fields::{FULL, Row};
use crate::forms::values;
use crate::lists::item_lists::list_within;
use crate::records::kinds::{Cycle, CycleItem, Stamp};
use crate::records::store::World;
use crate::records::table::Id;
use crate::views::cycles::rows;

fn render(row: &mut Row<'_>, _: &World, link: &CycleItem) {
    row.id(link.id);
    tail(row, link);
}

/// Writes a row for the answer to an add, with the number of the work item's children.
fn render_counted(row: &mut Row<'_>, link: &CycleItem, children: &HashMap<Id, usize>) {
    let count = children.get(&link.item).copied().unwrap_or_default();
    row.id(link.id).set("sub_issues_count", count);
    tail(row, link);
}

fn tail(row: &mut Row<'_>, link: &CycleItem) {
    row.stamps(&link.stamp, link.deleted_at)
        .origin(&link.stamp, link.project, link.workspace)
        .reference("issue", Some(link.item))
        .reference("cycle", Some(link.cycle));
}

/// Number of visible children of each work item.
fn child_counts(world: &World) -> HashMap<Id, usize> {
    let mut counts = HashMap::new();
    for child in world.items.iter() {
        if let Some(parent) = child.parent
            && world.shown(child)
        {
            *counts.entry(parent).or_default() += 1;
        }
    }
    counts
}

/// `GET cycle-issues/`: full work items, the oldest first. An unknown cycle is an empty page
/// (`cycle_items_list_random_cycle`). Items of other projects are left out
/// (`cycle_items_add_other_project_accepted`).
pub(crate) fn list(call: &Call<'_>, world: &World) -> Answer {
    let members = rows(world, call.place.project, call.place.parent).map(|row| row.item);
    list_within(call, world, members)
}

/// Reads the ids in `issues`. An absent value, an empty list or no list is `None`; a malformed id is rejected.
pub(crate) fn sent_items(body: &Body) -> Result<Option<Vec<Id>>, Reply> {
    let Some(Datum::Json(Value::Array(list))) = body.get("issues") else {
        return Ok(None);
    };
    if list.is_empty() {
        return Ok(None);
    }
    let ids: Option<Vec<Id>> = list.iter().map(|entry| entry.as_str().and_then(values::id)).collect();
    ids.map(Some).ok_or_else(Reply::bad_detail)
}

fn cycle<'w>(call: &Call<'_>, world: &'w World, id: Id) -> Result<&'w Cycle, Reply> {
    world.cycles.get(id).filter(|cycle| cycle.project == call.place.project).ok_or_else(Reply::not_found)
}

fn ended(call: &Call<'_>, cycle: &Cycle) -> bool {
    cycle.end_date.is_some_and(|end| end < call.now())
}

/// `POST cycle-issues/`: returns all rows of the cycle. Items of other cycles move; items of other
/// projects are accepted (`cycle_items_move_to_other_cycle`, `cycle_items_add_other_project_accepted`).
pub(crate) fn add(call: &Call<'_>, world: &mut World) -> Answer {
    let body = call.body()?;
    let items = sent_items(&body)?.ok_or_else(|| {
        Reply::json(400, json!({ "error": "Work items are required", "code": "MISSING_WORK_ITEMS" }))
    })?;
    let target = cycle(call, world, call.place.parent)?.clone();
    if ended(call, &target) {
        let message = "The Cycle has already been completed so no new issues can be added";
        return Err(Reply::json(400, json!({ "code": "CYCLE_COMPLETED", "message": message })));
    }
    // A work item that never existed violates a constraint (`cycle_items_add_random`).
    if items.iter().any(|&item| world.items.any(item).is_none()) {
        return Err(Reply::bad_payload());
    }
    let rows_now = world.cycle_items.iter().filter(|row| row.workspace == target.workspace);
    let present: HashMap<Id, Id> = rows_now.map(|row| (row.item, row.id)).collect();
    let mut seen = HashSet::new();
    for item in items {
        if seen.insert(item) {
            put(call, world, &target, item, present.get(&item).copied());
        }
    }
    let links: Vec<&CycleItem> = rows(world, target.project, target.id).collect();
    Ok(all_rows(call, world, links, |link| link.stamp.created_at, render_counted))
}

/// Adds a work item to a cycle. Its present row moves, if the row belongs to this project.
fn put(call: &Call<'_>, world: &mut World, cycle: &Cycle, item: Id, present: Option<Id>) {
    let now = call.now();
    let row = present.and_then(|row| world.cycle_items.get_mut(row)).filter(|row| row.project == cycle.project);
    if let Some(row) = row {
        row.cycle = cycle.id;
    } else {
        // v1 creates these rows in bulk, without an author (`cycle_items_add`).
        let stamp = Stamp { created_by: None, ..Stamp::new(call.user, now) };
        world.cycle_items.add(CycleItem {
            id: Uuid::new_v4(),
            cycle: cycle.id,
            item,
            project: cycle.project,
            workspace: cycle.workspace,
            stamp,
            deleted_at: None,
        });
    }
    world.touch(item, now);
}

/// The answer to an add: all rows, newest first, each with the number of its work item's children.
pub(crate) fn all_rows<T>(
    call: &Call<'_>,
    world: &World,
    mut links: Vec<&T>,
    made: fn(&T) -> Timestamp,
    render: fn(&mut Row<'_>, &T, &HashMap<Id, usize>),
) -> Reply {
    links.sort_by_key(|link| std::cmp::Reverse(made(link)));
    let children = child_counts(world);
    let write = |link| call.write(&FULL, world, link, |row, _, link| render(row, link, &children));
    Reply::ok(links.into_iter().map(write).collect())
}

fn found<'w>(call: &Call<'_>, world: &'w World) -> Result<&'w CycleItem, Reply> {
    rows(world, call.place.project, call.place.parent)
        .find(|row| row.item == call.place.id)
        .ok_or_else(Reply::not_found)
}

/// `GET cycle-issues/{item}/`: the membership row.
pub(crate) fn read(call: &Call<'_>, world: &World) -> Answer {
    let link = found(call, world)?;
    Ok(Reply::ok(call.write(&call.shape(), world, link, render)))
}

/// `DELETE cycle-issues/{item}/`.
pub(crate) fn remove(call: &Call<'_>, world: &mut World) -> Answer {
    let id = found(call, world)?.id;
    let now = call.now();
    world.cycle_items.change(id, |row| row.deleted_at = Some(now));
    world.touch(call.place.id, now);
    Ok(Reply::no_content())
}

/// `POST transfer-issues/`: unfinished items move to the new cycle. The old cycle need not have ended
/// (`cycle_transfer_not_completed`).
pub(crate) fn transfer(call: &Call<'_>, world: &mut World) -> Answer {
    let body = call.body()?;
    let text = body.truthy("new_cycle_id").ok_or_else(|| Reply::error(400, "New Cycle Id is required"))?;
    let target = values::id(&text).ok_or_else(Reply::bad_detail)?;
    let target = cycle(call, world, target)?;
    if ended(call, target) {
        return Err(Reply::error(400, "The cycle where the issues are transferred is already completed"));
    }
    let target = target.id;
    let unfinished: Vec<(Id, Id)> = rows(world, call.place.project, call.place.parent)
        .filter(|row| {
            let state = world.items.get(row.item).and_then(|item| world.states.any(item.state));
            state.is_some_and(|state| matches!(state.group.as_str(), "backlog" | "unstarted" | "started"))
        })
        .map(|row| (row.id, row.item))
        .collect();
    for (row, item) in unfinished {
        world.cycle_items.change(row, |row| row.cycle = target);
        world.touch(item, call.now());
    }
    Ok(Reply::ok(json!({ "message": "Success" })))
}

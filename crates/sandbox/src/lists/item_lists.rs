//! Lists of work items: the list of a project with its lookup by external pair, the lists inside cycles and modules,
//! and the lookup by key. May use: `door`, `forms`, `records`, this folder.

use std::collections::HashSet;

use crate::door::call::Call;
use crate::door::http::{Answer, Reply};
use crate::forms::item_shape::render;
use crate::forms::values;
use crate::lists::orders::{direction, in_project, plain, sorted};
use crate::lists::paging::paginate_counted;
use crate::records::store::World;
use crate::records::table::Id;

fn page(call: &Call<'_>, world: &World, total: usize, order: &[u32]) -> Answer {
    let shape = call.shape();
    paginate_counted(&call.query, total, order.len(), |row| {
        let item = world.items.at(order[row] as usize);
        call.write(&shape, world, item, render)
    })
}

/// `GET work-items/`: newest first unless `order_by` says otherwise. With both halves of an external
/// pair it is a lookup that returns one object, and that also finds archived, draft and triage items
/// (`items_find_by_external_pair`, `archived_find_by_external_pair`).
pub(crate) fn list(call: &Call<'_>, world: &World) -> Answer {
    let project = call.place.project;
    let half = |name: &str| call.query.get(name).filter(|text| !text.is_empty());
    if let (Some(source), Some(id)) = (half("external_source"), half("external_id")) {
        return by_external_pair(call, world, source, id);
    }
    let text = call.query.get("order_by").unwrap_or("-created_at");
    let (descending, field) = direction(text);
    let keys = in_project(field).ok_or_else(Reply::crash)?;
    if !world.readable(project) {
        return page(call, world, 0, &[]);
    }
    let order = world.remembered_order(project, text, || {
        let visible = world.items.indexes_of(project).iter().copied();
        let visible = visible.filter(|&index| world.shown(world.items.at(index)));
        sorted(world, visible, keys, descending)
    });
    // Only orders by a relation can repeat rows; the total is the number of work items.
    let total = if field.starts_with("assignees") || field.starts_with("labels") {
        order.iter().collect::<HashSet<_>>().len()
    } else {
        order.len()
    };
    page(call, world, total, &order)
}

fn by_external_pair(call: &Call<'_>, world: &World, source: &str, id: &str) -> Answer {
    let mut matches = world
        .items
        .of(call.place.project)
        .filter(|item| item.external.source.as_deref() == Some(source) && item.external.id.as_deref() == Some(id));
    let item = matches.next().ok_or_else(Reply::not_found)?;
    // Two items with the same pair make the lookup fail (`items_find_by_shared_external_pair`).
    if matches.next().is_some() {
        return Err(Reply::crash());
    }
    Ok(Reply::ok(call.write(&call.shape(), world, item, render)))
}

/// A list inside a cycle or module: the oldest first, every field by its plain order
/// (`lists_cycle_order_priority`). Items of other projects are left out.
///
/// Rows with equal keys come in another order on every page. So reading all pages repeats some rows and
/// misses others. This was observed on v1 with every key that is not unique. `id` and `sequence_id` are
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

/// Returns an arbitrary number that depends on the row and the page (FNV-1a).
fn scramble(id: Id, page: &str) -> u64 {
    let bytes = page.bytes().chain(id.into_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// `GET work-items/{KEY}-{n}/`: the number is not read strictly (`items_key_zero_padded`,
/// `items_key_unicode_digits`). A text that is no number is a 500 (`items_key_not_a_number`).
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
    // A number that two items have makes the lookup fail (`items_key_of_shared_number`).
    if matches.next().is_some() {
        return Err(Reply::crash());
    }
    Ok(Reply::ok(call.write(&call.shape(), world, item, render)))
}

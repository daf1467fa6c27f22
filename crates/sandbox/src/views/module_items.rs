//! Work items in modules: list, add, remove. May use: `door`, `forms`, `lists`, `records`, this folder.

use std::collections::HashMap;

use uuid::Uuid;

use crate::door::call::Call;
use crate::door::http::{Answer, Reply};
use crate::forms::fields::Row;
use crate::lists::item_lists::list_within;
use crate::records::kinds::{ModuleItem, Stamp};
use crate::records::store::World;
use crate::records::table::Id;
use crate::views::cycle_items::{all_rows, sent_items};

fn render(row: &mut Row<'_>, link: &ModuleItem, children: &HashMap<Id, usize>) {
    let count = children.get(&link.item).copied().unwrap_or_default();
    row.id(link.id)
        .set("sub_issues_count", count)
        .stamps(&link.stamp, link.deleted_at)
        .origin(&link.stamp, link.project, link.workspace)
        .reference("module", Some(link.module))
        .reference("issue", Some(link.item));
}

/// The membership rows of the module in the path.
fn rows<'w>(call: &Call<'_>, world: &'w World) -> impl Iterator<Item = &'w ModuleItem> {
    let project = call.place.project;
    world.module_items.of(call.place.parent).filter(move |row| row.project == project)
}

/// `GET module-issues/`: full work items, the oldest first. An unknown module is an empty page
/// (`module_items_list_random_module`).
pub(crate) fn list(call: &Call<'_>, world: &World) -> Answer {
    list_within(call, world, rows(call, world).map(|row| row.item))
}

/// `POST module-issues/`: unknown items and items of other projects are dropped silently
/// (`module_items_add_random`, `module_items_add_other_project`).
pub(crate) fn add(call: &Call<'_>, world: &mut World) -> Answer {
    let body = call.body()?;
    let mut items = sent_items(&body)?.ok_or_else(|| Reply::error(400, "Issues are required"))?;
    let module = world
        .modules
        .get(call.place.parent)
        .filter(|module| module.project == call.place.project)
        .ok_or_else(Reply::not_found)?;
    let (id, project, workspace) = (module.id, module.project, module.workspace);
    items.retain(|&item| world.items.get(item).is_some_and(|i| i.project == project));
    // The row of the newest work item is created first, so the answer has the oldest first
    // (`module_items_add`).
    items.sort_by_key(|&item| std::cmp::Reverse(world.items.position(item)));
    items.dedup();
    for item in items {
        if world.module_items.of(id).any(|row| row.item == item) {
            continue;
        }
        let stamp = Stamp { updated_by: Some(call.user), ..Stamp::new(call.user, call.now()) };
        world.module_items.add(ModuleItem {
            id: Uuid::new_v4(),
            module: id,
            item,
            project,
            workspace,
            stamp,
            deleted_at: None,
        });
    }
    let links = world.module_items.of(id).collect();
    Ok(all_rows(call, world, links, |link| link.stamp.created_at, render))
}

/// `DELETE module-issues/{item}/`: moves the item's `updated_at`; an add does not
/// (`updated_after_module_remove`, `updated_after_module_add`).
pub(crate) fn remove(call: &Call<'_>, world: &mut World) -> Answer {
    let item: Id = call.place.id;
    let id = rows(call, world).find(|row| row.item == item).ok_or_else(Reply::not_found)?.id;
    let now = call.now();
    world.module_items.change(id, |row| row.deleted_at = Some(now));
    world.touch(item, now);
    Ok(Reply::no_content())
}

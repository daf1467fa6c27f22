//! The form of a work item in all answers. May use: `records`, `views`, this folder.

use serde_json::{Value, json};

use crate::forms::fields::{FULL, Row, View, person};
use crate::records::kinds::Item;
use crate::records::store::World;
use crate::records::table::Id;
use crate::views::labels;

/// Writes a work item.
pub(crate) fn render(row: &mut Row<'_>, world: &World, item: &Item) {
    let view = row.view();
    row.id(item.id)
        // `expand` turns `type_id` to null, and leaves `type` as it is (`types_get_expand`).
        .set("type_id", json!(item.type_id))
        .instant("created_at", Some(item.created_at))
        .instant("updated_at", Some(item.updated_at))
        .instant("deleted_at", item.deleted_at)
        .set("point", item.point)
        .set("name", item.name.as_str())
        .set("description_html", item.description_html.as_str())
        .set("description_binary", Value::Null)
        .set("priority", item.priority)
        .day("start_date", item.start_date)
        .day("target_date", item.target_date)
        .set("sequence_id", item.sequence_id)
        .float("sort_order", item.sort_order)
        .instant("completed_at", item.completed_at)
        .day("archived_at", item.archived_at)
        .set("is_draft", item.is_draft)
        .external(&item.external)
        .person("created_by", item.created_by)
        .person("updated_by", item.updated_by)
        .project(Some(item.project))
        .workspace(item.workspace)
        .related("parent", item.parent, |id| {
            // Without a name (`lists_expand_parent`).
            let parent = world.items.any(id)?;
            Some(json!({ "id": parent.id, "sequence_id": parent.sequence_id, "project_id": parent.project }))
        })
        .related("state", Some(item.state).filter(|id| !id.is_nil()), |id| state(world, id))
        .expandable("estimate_point", |expanded| {
            if expanded { estimate_point(view, world, item.estimate_point) } else { json!(item.estimate_point) }
        })
        .reference("type", item.type_id)
        // Plain ids are ordered by the age of the membership or label, oldest first. Expanded forms show the youngest
        // account or label first (`items_get_expand_all`).
        .expandable("assignees", |expanded| if expanded { people(world, item) } else { json!(item.assignees) })
        .expandable("labels", |expanded| if expanded { labels(view, world, item) } else { json!(item.labels) });
}

/// The expanded state of a work item.
pub(crate) fn state(world: &World, id: Id) -> Option<Value> {
    let state = world.states.any(id)?;
    Some(json!({ "id": state.id, "name": state.name, "color": state.color, "group": state.group }))
}

/// An expanded estimate point. v1 shows a missing one as an object with fewer keys.
fn estimate_point(view: &View<'_>, world: &World, id: Option<Id>) -> Value {
    let mut points = world.estimate_points.iter();
    let Some(point) = id.and_then(|id| points.find(|point| point.id == id)) else {
        return json!({
            "deleted_at": null,
            "key": null,
            "description": "",
            "value": "",
            "created_by": null,
            "updated_by": null,
        });
    };
    json!({
        "id": point.id,
        "created_at": view.instant(point.stamp.created_at),
        "updated_at": view.instant(point.stamp.updated_at),
        "deleted_at": null,
        "key": point.key,
        "description": "",
        "value": point.value,
        "created_by": point.stamp.created_by,
        "updated_by": point.stamp.updated_by,
        "project": point.project,
        "workspace": point.workspace,
        "estimate": point.estimate,
    })
}

fn people(world: &World, item: &Item) -> Value {
    let mut people = item.assignees.clone();
    people.sort_by_key(|&user| std::cmp::Reverse(world.users.position(user)));
    people.iter().filter_map(|&user| world.users.get(user)).map(person).collect()
}

fn labels(view: &View<'_>, world: &World, item: &Item) -> Value {
    let labels = item.labels.iter().rev().filter_map(|&label| world.labels.get(label));
    labels.map(|label| written(view, world, label, labels::render)).collect()
}

/// Writes a record in full, inside another record.
fn written<T>(view: &View<'_>, world: &World, record: &T, render: fn(&mut Row<'_>, &World, &T)) -> Value {
    let mut row = Row::new(&FULL, view, world);
    render(&mut row, world, record);
    row.done()
}

/// Writes a work item in full, for other records that expand it.
pub(crate) fn full(view: &View<'_>, world: &World, id: Id) -> Option<Value> {
    world.items.any(id).map(|item| written(view, world, item, render))
}

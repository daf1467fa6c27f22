//! How a work item is written, in every answer that has one. Uses the store and the row writer.

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
        // `expand` turns this one to null, and leaves `type` as it is (`types_get_expand`).
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
        .related("parent", item.parent, |parent| {
            parent.and_then(|id| world.items.any(id)).map_or_else(
                || json!({}),
                // Without a name (`lists_expand_parent`).
                |parent| {
                    json!({
                        "id": parent.id,
                        "sequence_id": parent.sequence_id,
                        "project_id": parent.project,
                    })
                },
            )
        })
        .related("state", Some(item.state), |_| {
            world.states.any(item.state).map_or_else(
                || json!({}),
                |state| {
                    json!({
                        "id": state.id,
                        "name": state.name,
                        "color": state.color,
                        "group": state.group,
                    })
                },
            )
        })
        .related("estimate_point", item.estimate_point, |point| {
            let mut points = world.estimate_points.iter();
            point.and_then(|id| points.find(|point| point.id == id)).map_or_else(
                || {
                    json!({
                        "deleted_at": null,
                        "key": null,
                        "description": "",
                        "value": "",
                        "created_by": null,
                        "updated_by": null,
                    })
                },
                |point| {
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
                },
            )
        })
        .reference("type", item.type_id);
    // Plain ids go by age of membership and label, oldest first; expanded forms show the youngest
    // account and label first (`items_get_expand_all`).
    row.list("assignees", |expanded| {
        if !expanded {
            return json!(item.assignees);
        }
        let mut people = item.assignees.clone();
        people.sort_by_key(|&user| std::cmp::Reverse(world.users.position(user)));
        let people = people.iter().filter_map(|&user| world.users.get(user));
        Value::Array(people.map(person).collect())
    });
    row.list("labels", |expanded| {
        if !expanded {
            return json!(item.labels);
        }
        let labels = item.labels.iter().rev();
        let labels = labels.filter_map(|&label| world.labels.get(label));
        let write = |label| {
            let mut row = Row::new(&FULL, view, world);
            labels::render(&mut row, world, label);
            row.done()
        };
        Value::Array(labels.map(write).collect())
    });
}

/// Writes a work item in full, for other records that expand it.
pub(crate) fn full(view: &View<'_>, world: &World, id: Id) -> Value {
    world.items.any(id).map_or_else(
        || json!({}),
        |item| {
            let mut whole = Row::new(&FULL, view, world);
            render(&mut whole, world, item);
            whole.done()
        },
    )
}

//! Labels, listed newest first. A create does not check the caller's access to the project in the path. May use:
//! `door`, `forms`, `lists`, `records`.

use serde_json::json;
use uuid::Uuid;

use crate::door::call::{Call, SentExternal, label_pair_taken, name_taken, pair_holder};
use crate::door::http::{Answer, Reply};
use crate::forms::fields::{FULL, Row};
use crate::forms::validate::{Form, SentValue, Text};
use crate::lists::paging::paginate;
use crate::records::kinds::{External, Label, Stamp};
use crate::records::store::World;
use crate::records::table::Id;

/// Writes a label.
pub(crate) fn render(row: &mut Row<'_>, world: &World, label: &Label) {
    row.id(label.id)
        .stamps(&label.stamp, label.deleted_at)
        .set("name", label.name.as_str())
        .set("description", label.description.as_str())
        .set("color", label.color.as_str())
        .float("sort_order", label.sort_order)
        .external(&label.external)
        .person("created_by", label.stamp.created_by)
        .person("updated_by", label.stamp.updated_by)
        .workspace(label.workspace)
        .project(label.project)
        .related("parent", label.parent, |id| {
            world.labels.any(id).map(|parent| json!({ "id": parent.id, "project_id": parent.project }))
        });
}

/// The labels that the caller sees: those of a project in the path's workspace to which the caller belongs.
/// For any other project the list is empty and not rejected (`labels_list_private_project_by_outsider_is_empty`).
fn visible<'w>(call: &Call<'_>, world: &'w World) -> Vec<&'w Label> {
    let project = call.place.project;
    if world.membership(&call.place.slug, project, call.user).is_none() || !world.readable(project) {
        return Vec::new();
    }
    let mut labels: Vec<&Label> = world.labels.of(project).collect();
    labels.sort_by_key(|label| std::cmp::Reverse(label.stamp.created_at));
    labels
}

/// `GET labels/`.
pub(crate) fn list(call: &Call<'_>, world: &World) -> Answer {
    let shape = call.shape();
    let labels = visible(call, world);
    paginate(&call.query, &labels, |label| call.write(&shape, world, *label, render))
}

fn found<'w>(call: &Call<'_>, world: &'w World) -> Result<&'w Label, Reply> {
    visible(call, world).into_iter().find(|label| label.id == call.place.id).ok_or_else(Reply::not_found)
}

/// `GET labels/{id}/`: all keys, whatever `fields` says (`labels_get_fields_ignored`).
pub(crate) fn read(call: &Call<'_>, world: &World) -> Answer {
    let label = found(call, world)?;
    Ok(Reply::ok(call.write(&FULL, world, label, render)))
}

struct Fields {
    name: SentValue<String>,
    description: SentValue<String>,
    color: SentValue<String>,
    sort_order: SentValue<f64>,
    parent: SentValue<Id>,
    external: SentExternal,
}

/// Reads the fields. The name of any workspace-level label, also of another workspace, is rejected
/// (`labels_create_same_name_as_workspace_label_of_other_workspace`). A parent may be anywhere
/// (`labels_create_parent_foreign_workspace_accepted`).
fn fields(mut form: Form<'_>, world: &World) -> Result<Fields, Reply> {
    let fields = Fields {
        name: form.text("name", Text::REQUIRED),
        description: form.text("description", Text::BLANK.long()),
        color: form.text("color", Text::BLANK),
        sort_order: form.float("sort_order"),
        parent: form.relation("parent", false, true, |id| world.labels.get(id).is_some()),
        external: SentExternal::read(&mut form),
    };
    if let SentValue::Is(name) = &fields.name
        && world.labels.iter().any(|label| label.project.is_none() && label.name == *name)
    {
        form.refuse("name", "Label with this name already exists.");
    }
    form.finish()?;
    Ok(fields)
}

/// `POST labels/`: `sort_order` is ignored. Any project is accepted; the label gets the workspace of that project
/// (`labels_create_in_foreign_project_accepted`).
pub(crate) fn create(call: &Call<'_>, world: &mut World) -> Answer {
    let body = call.body()?;
    let fields = fields(Form::create(&body)?, world)?;
    let project = call.place.project;
    let pairs = world.labels.of(project).map(|l| (l.id, &l.external));
    if let Some(holder) = pair_holder(&body, pairs) {
        return Err(Reply::external_taken("Label", holder));
    }
    let workspace = world.projects.get(project).ok_or_else(Reply::not_found)?.workspace;
    let name = fields.name.value().unwrap_or_default();
    if world.labels.of(project).any(|label| label.name == name) {
        return Err(name_taken("Label", &body, world.labels.of(project).map(|l| (l.id, l.name.as_str()))));
    }
    let mut label = blank(world, workspace, Some(project), Stamp::new(call.user, call.now()));
    label.name = name;
    fields.description.store(&mut label.description);
    fields.color.store(&mut label.color);
    fields.parent.store_optional(&mut label.parent);
    fields.external.store(&mut label.external);
    let answer = call.write(&FULL, world, &label, render);
    world.labels.add(label);
    Ok(Reply::created(answer))
}

/// Creates a label with v1's defaults, sorted after the others of the project, or of the workspace when it has no
/// project.
pub(crate) fn blank(world: &World, workspace: Id, project: Option<Id>, stamp: Stamp) -> Label {
    let home = project.unwrap_or(workspace);
    let last = world.labels.of(home).map(|label| label.sort_order).reduce(f64::max);
    Label {
        id: Uuid::new_v4(),
        workspace,
        project,
        home,
        stamp,
        deleted_at: None,
        name: String::new(),
        description: String::new(),
        color: String::new(),
        sort_order: last.map_or(65_535.0, |last| last + 10_000.0),
        parent: None,
        external: External::default(),
    }
}

/// `PATCH labels/{id}/`: parents may form loops (`labels_patch_parent_cycle_1`).
pub(crate) fn update(call: &Call<'_>, world: &mut World) -> Answer {
    let mut label = found(call, world)?.clone();
    let body = call.body()?;
    let fields = fields(Form::update(&body)?, world)?;
    let others = world.labels.of(label.home).filter(|l| l.id != label.id).map(|l| (l.id, &l.external));
    if label_pair_taken(&body, &label.external, others) {
        return Err(Reply::external_taken("Label", label.id));
    }
    fields.name.store(&mut label.name);
    fields.description.store(&mut label.description);
    fields.color.store(&mut label.color);
    fields.sort_order.store(&mut label.sort_order);
    fields.parent.store_optional(&mut label.parent);
    fields.external.store(&mut label.external);
    label.stamp.change(call.user, call.now());
    if world.labels.of(label.home).any(|l| l.id != label.id && l.name == label.name) {
        return Err(Reply::bad_payload());
    }
    let answer = call.write(&FULL, world, &label, render);
    world.labels.put(label);
    Ok(Reply::ok(answer))
}

/// `DELETE labels/{id}/`: also deletes the labels below it (`labels_child_after_parent_delete`). Work
/// items lose the label, but their `updated_at` does not move (`labels_item_after_label_delete`).
pub(crate) fn delete(call: &Call<'_>, world: &mut World) -> Answer {
    let mut waiting = vec![found(call, world)?.id];
    let now = call.now();
    while let Some(id) = waiting.pop() {
        let Some(label) = world.labels.get_mut(id) else {
            continue;
        };
        label.deleted_at = Some(now);
        let home = label.home;
        world.items.change_of(home, |item| item.labels.retain(|&l| l != id));
        waiting.extend(world.labels.iter().filter(|label| label.parent == Some(id)).map(|label| label.id));
    }
    Ok(Reply::no_content())
}

//! The intake box of a project: a request creates a work item in the hidden triage state; accepting it moves the item
//! to the default state. May use: `door`, `forms`, `lists`, `records`, this folder.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::door::body::{Body, Datum};
use crate::door::call::Call;
use crate::door::http::{Answer, Reply};
use crate::forms::fields::{FULL, Row, View};
use crate::forms::item_shape::state;
use crate::forms::validate::{Form, Text};
use crate::lists::paging::paginate;
use crate::records::kinds::{IntakeEntry, Item, Stamp};
use crate::records::store::World;
use crate::records::table::Id;
use crate::views::activities::note_created;
use crate::views::items::{PRIORITIES, blank};
use crate::views::states;

/// The status of a waiting request, and of an accepted one.
const WAITING: i64 = -2;
const ACCEPTED: i64 = 1;

fn render(row: &mut Row<'_>, world: &World, entry: &IntakeEntry) {
    let view = row.view();
    row.id(entry.id)
        .with("issue_detail", || world.items.any(entry.item).map_or(Value::Null, |item| detail(view, world, item)))
        .with("inbox", || json!(entry.intake))
        .stamps(&entry.stamp, entry.deleted_at)
        .set("status", entry.status)
        .set("snoozed_till", Value::Null)
        .set("source", "IN_APP")
        .set("source_email", Value::Null)
        .set("external_source", Value::Null)
        .set("external_id", Value::Null)
        .with("extra", || json!({}))
        .origin(&entry.stamp, entry.project, entry.workspace)
        .with("intake", || json!(entry.intake))
        .reference("issue", Some(entry.item))
        .with("duplicate_to", || Value::Null);
}

/// The work item behind an entry.
fn detail(view: &View<'_>, world: &World, item: &Item) -> Value {
    json!({
        "id": item.id,
        "labels": item.labels,
        "assignees": item.assignees,
        "state": state(world, item.state),
        "description": {},
        "created_at": view.instant(item.created_at),
        "updated_at": view.instant(item.updated_at),
        "deleted_at": null,
        "point": item.point,
        "name": item.name,
        "description_json": {},
        "description_html": item.description_html,
        "description_stripped": "",
        "description_binary": null,
        "priority": item.priority,
        "start_date": item.start_date.map(|day| day.to_string()),
        "target_date": item.target_date.map(|day| day.to_string()),
        "sequence_id": item.sequence_id,
        "sort_order": item.sort_order,
        "completed_at": item.completed_at.map(|at| view.instant(at)),
        "archived_at": item.archived_at.map(|day| day.to_string()),
        "is_draft": item.is_draft,
        "external_source": item.external.source,
        "external_id": item.external.id,
        "created_by": item.created_by,
        "updated_by": item.updated_by,
        "project": item.project,
        "workspace": item.workspace,
        "parent": item.parent,
        "estimate_point": item.estimate_point,
        "type": item.type_id,
    })
}

fn visible<'w>(call: &Call<'_>, world: &'w World) -> Vec<&'w IntakeEntry> {
    let project = call.place.project;
    if !world.projects.get(project).is_some_and(|p| p.intake_view) {
        return Vec::new();
    }
    world.intake.of(project).rev().collect()
}

/// `GET intake-issues/`: empty while the intake is switched off (`intake_list_off`).
pub(crate) fn list(call: &Call<'_>, world: &World) -> Answer {
    let shape = call.shape();
    let entries = visible(call, world);
    paginate(&call.query, &entries, |entry| call.write(&shape, world, *entry, render))
}

/// The entry of the work item in the path.
fn found<'w>(call: &Call<'_>, world: &'w World) -> Result<&'w IntakeEntry, Reply> {
    visible(call, world).into_iter().find(|entry| entry.item == call.place.id).ok_or_else(Reply::not_found)
}

/// `GET intake-issues/{item}/`.
pub(crate) fn read(call: &Call<'_>, world: &World) -> Answer {
    let entry = found(call, world)?;
    Ok(Reply::ok(call.write(&call.shape(), world, entry, render)))
}

/// The inner object of a body, as a body of its own.
fn inner(body: &Body) -> Body {
    match body.get("issue") {
        Some(Datum::Json(Value::Object(fields))) => {
            Body::Object(fields.iter().map(|(name, value)| (name.clone(), Datum::Json(value.clone()))).collect())
        }
        _ => Body::Object(indexmap::IndexMap::new()),
    }
}

fn answer(call: &Call<'_>, world: &World, id: Id) -> Value {
    world.intake.any(id).map_or(Value::Null, |entry| call.write(&FULL, world, entry, render))
}

/// `POST intake-issues/`.
pub(crate) fn create(call: &Call<'_>, world: &mut World) -> Answer {
    let body = call.body()?;
    let issue = inner(&body);
    if issue.truthy("name").is_none() {
        return Err(Reply::error(400, "Name is required"));
    }
    let project = call.place.project;
    let record = world.projects.get(project).ok_or_else(Reply::not_found)?;
    let workspace = record.workspace;
    let intake = record.intake.filter(|_| record.intake_view).ok_or_else(|| {
        let message = "Intake is not enabled for this project enable it through the project's api";
        Reply::error(400, message)
    })?;
    let mut form = Form::create(&issue)?;
    let name = form.text("name", Text::REQUIRED);
    let priority = form.choice("priority", &PRIORITIES);
    form.finish()?;
    let triage = world
        .states
        .of(project)
        .find(|state| state.group == "triage")
        .map(|state| state.id)
        .ok_or_else(Reply::crash)?;
    let stamp = Stamp::new(call.user, call.now());
    let mut item = blank(world, project, triage, &stamp)?;
    name.store(&mut item.name);
    priority.store(&mut item.priority);
    let entry = IntakeEntry {
        id: Uuid::new_v4(),
        project,
        workspace,
        intake,
        item: item.id,
        status: WAITING,
        stamp,
        deleted_at: None,
    };
    let (id, item_id) = (entry.id, item.id);
    world.items.add(item);
    world.intake.add(entry);
    note_created(call, world, item_id);
    Ok(Reply::created(answer(call, world, id)))
}

/// `PATCH intake-issues/{item}/`: status 1 accepts the request (`intake_accept`).
pub(crate) fn update(call: &Call<'_>, world: &mut World) -> Answer {
    let mut entry = found(call, world)?.clone();
    let body = call.body()?;
    let mut form = Form::update(&body)?;
    let status = form.whole("status", false, -2, 2);
    form.finish()?;
    let issue = inner(&body);
    let mut form = Form::update(&issue)?;
    let name = form.text("name", Text::REQUIRED);
    let priority = form.choice("priority", &PRIORITIES);
    form.finish()?;
    status.store(&mut entry.status);
    let now = call.now();
    entry.stamp.change(call.user, now);
    let target = states::default_of(world, entry.project);
    let hidden = world.items.get(entry.item).is_some_and(|item| world.is_triage_state(item.state));
    if let Some(item) = world.items.get_mut(entry.item) {
        name.store(&mut item.name);
        priority.store(&mut item.priority);
        if let (ACCEPTED, true, Some(target)) = (entry.status, hidden, target) {
            item.state = target;
        }
        item.updated_at = now;
        item.updated_by = Some(call.user);
    }
    let id = entry.id;
    world.intake.put(entry);
    Ok(Reply::ok(answer(call, world, id)))
}

/// `DELETE intake-issues/{item}/`: also deletes the work item.
pub(crate) fn delete(call: &Call<'_>, world: &mut World) -> Answer {
    let entry = found(call, world)?;
    let (id, item) = (entry.id, entry.item);
    let now = call.now();
    world.intake.change(id, |entry| entry.deleted_at = Some(now));
    world.delete_item(item, now);
    Ok(Reply::no_content())
}

//! Work items: read, create, update, delete. Lists, key lookup and search are in [`crate::lists::item_lists`].
//! May use: `door`, `forms`, `records`, this folder.

use jiff::Timestamp;
use jiff::civil::Date;
use uuid::Uuid;

use crate::door::auth::{ADMIN, MEMBER};
use crate::door::call::{Call, SentExternal, pair_holder, pair_taken, sent_created_at};
use crate::door::http::{Answer, Reply};
use crate::forms::fields::FULL;
use crate::forms::html;
use crate::forms::item_shape::render;
use crate::forms::validate::{Form, SentValue, Text};
use crate::records::kinds::{External, Item, Stamp};
use crate::records::store::World;
use crate::records::table::Id;
use crate::views::activities;
use crate::views::states;

/// The priorities, most urgent first.
pub(crate) const PRIORITIES: [&str; 5] = ["urgent", "high", "medium", "low", "none"];
/// The largest whole number that the database accepts (`errors_integer_overflow`).
const LARGEST: i64 = 2_147_483_647;

/// The work item in the path, if it is visible.
fn visible<'w>(call: &Call<'_>, world: &'w World) -> Result<&'w Item, Reply> {
    found(call, world).and_then(|item| {
        if world.shown(item) && world.readable(item.project) { Ok(item) } else { Err(Reply::not_found()) }
    })
}

/// The work item in the path. Writes also find archived, draft and triage items
/// (`archived_patch_reads_it`).
fn found<'w>(call: &Call<'_>, world: &'w World) -> Result<&'w Item, Reply> {
    world.items.get(call.place.id).filter(|item| item.project == call.place.project).ok_or_else(Reply::not_found)
}

/// `GET work-items/{id}/`.
pub(crate) fn read(call: &Call<'_>, world: &World) -> Answer {
    let item = visible(call, world)?;
    Ok(Reply::ok(call.write(&call.shape(), world, item, render)))
}

struct Fields {
    name: SentValue<String>,
    description_html: SentValue<String>,
    priority: SentValue<&'static str>,
    point: SentValue<i64>,
    start_date: SentValue<Date>,
    target_date: SentValue<Date>,
    sequence_id: SentValue<i64>,
    sort_order: SentValue<f64>,
    completed_at: SentValue<Timestamp>,
    archived_at: SentValue<Date>,
    deleted_at: SentValue<Timestamp>,
    is_draft: SentValue<bool>,
    created_by: SentValue<Id>,
    parent: SentValue<Id>,
    state: SentValue<Id>,
    estimate_point: SentValue<Id>,
    type_id: SentValue<Id>,
    assignees: SentValue<Vec<Id>>,
    labels: SentValue<Vec<Id>>,
    external: SentExternal,
}

/// Reads the fields. Relations are found anywhere in v1's database; whether they belong to the project is
/// checked afterwards. A triage state and an invisible parent count as unknown
/// (`items_create_state_triage`, `archived_as_parent`).
fn fields(mut form: Form<'_>, call: &Call<'_>, world: &World) -> Result<Fields, Reply> {
    let user = |id: Id| world.users.get(id).is_some();
    let a_type = |id: Id| world.types.iter().any(|t| t.id == id);
    let assignees = form.relations("assignees", user);
    let labels = form.relations("labels", |id| world.labels.get(id).is_some());
    // If both are sent, `type` wins over `type_id` (`types_patch_both_keys`).
    let type_id = form.relation("type_id", false, true, a_type);
    let type_key = form.relation("type", false, true, a_type);
    let fields = Fields {
        type_id: if type_key == SentValue::Absent { type_id } else { type_key },
        name: form.text("name", Text::REQUIRED),
        description_html: form.text("description_html", Text::BLANK.long()),
        priority: form.choice("priority", &PRIORITIES),
        point: form.whole("point", true, 0, 12),
        start_date: form.day("start_date"),
        target_date: form.day("target_date"),
        sequence_id: form.whole("sequence_id", false, -LARGEST - 1, LARGEST),
        sort_order: form.float("sort_order"),
        completed_at: form.instant("completed_at", &call.zone),
        archived_at: form.day("archived_at"),
        deleted_at: form.instant("deleted_at", &call.zone),
        is_draft: form.flag("is_draft"),
        external: SentExternal::read(&mut form),
        created_by: form.relation("created_by", false, true, user),
        parent: form.relation("parent", false, true, |id| {
            world.items.get(id).is_some_and(|item| world.shown(item) && world.readable(item.project))
        }),
        state: form
            .relation("state", false, true, |id| world.states.get(id).is_some() && !world.is_triage_state(id)),
        estimate_point: form
            .relation("estimate_point", false, true, |id| world.estimate_points.iter().any(|point| point.id == id)),
        assignees,
        labels,
    };
    form.finish()?;
    Ok(fields)
}

/// Checks fields against each other and the project. Dates are compared only when sent together
/// (`items_patch_dates_start_after_stored_target_accepted`). People and labels that do not belong to the project
/// are dropped silently (`items_create_assignee_guest`, `items_create_label_other_project`).
fn check(fields: &mut Fields, world: &World, project: Id) -> Result<(), Reply> {
    if let (SentValue::Is(start), SentValue::Is(target)) = (&fields.start_date, &fields.target_date)
        && start > target
    {
        return Err(Reply::non_field("Start date cannot exceed target date"));
    }
    if let SentValue::Is(text) = &mut fields.description_html {
        *text = html::clean(text).ok_or_else(|| Reply::non_field("Invalid HTML passed"))?;
    }
    if let SentValue::Is(assignees) = &mut fields.assignees {
        *assignees = world
            .project_members
            .of(project)
            .filter(|m| m.active && m.role >= MEMBER && assignees.contains(&m.user))
            .map(|m| m.user)
            .collect();
    }
    if let SentValue::Is(labels) = &mut fields.labels {
        labels.retain(|&id| {
            let label = world.labels.get(id);
            label.is_some_and(|label| label.project == Some(project))
        });
        labels.sort_by_key(|&id| world.labels.position(id));
    }
    let elsewhere = |owner: Option<Id>| owner.is_some_and(|owner| owner != project);
    let state = fields.state.as_ref().and_then(|&id| world.states.get(id));
    if elsewhere(state.map(|state| state.project)) {
        let message = "State is not valid please pass a valid state_id";
        return Err(Reply::non_field(message));
    }
    let parent = fields.parent.as_ref().and_then(|&id| world.items.get(id));
    if elsewhere(parent.map(|parent| parent.project)) {
        let message = "Parent is not valid issue_id please pass a valid issue_id";
        return Err(Reply::non_field(message));
    }
    let point =
        fields.estimate_point.as_ref().and_then(|&id| world.estimate_points.iter().find(|point| point.id == id));
    if elsewhere(point.map(|point| point.project)) {
        let message = "Estimate point is not valid please pass a valid estimate_point_id";
        return Err(Reply::non_field(message));
    }
    Ok(())
}

/// Writes the fields that creates and updates share.
fn apply(fields: Fields, item: &mut Item) {
    fields.name.store(&mut item.name);
    fields.description_html.store(&mut item.description_html);
    fields.priority.store(&mut item.priority);
    fields.point.store_optional(&mut item.point);
    fields.start_date.store_optional(&mut item.start_date);
    fields.target_date.store_optional(&mut item.target_date);
    fields.archived_at.store_optional(&mut item.archived_at);
    fields.deleted_at.store_optional(&mut item.deleted_at);
    fields.is_draft.store(&mut item.is_draft);
    fields.parent.store_optional(&mut item.parent);
    fields.estimate_point.store_optional(&mut item.estimate_point);
    fields.type_id.store_optional(&mut item.type_id);
    fields.assignees.store(&mut item.assignees);
    fields.labels.store(&mut item.labels);
    fields.external.store(&mut item.external);
}

/// Sets or clears `completed_at` after a change of state (`items_patch_state_done`,
/// `items_patch_state_back`).
fn complete(world: &World, item: &mut Item, now: Timestamp) {
    let done = world.states.any(item.state).is_some_and(|state| state.group == "completed");
    item.completed_at = done.then_some(now);
}

/// Creates a work item with v1's defaults, at the end of its state, with the next number.
pub(crate) fn blank(world: &mut World, project: Id, state: Id, stamp: &Stamp) -> Result<Item, Reply> {
    let last =
        world.items.of(project).filter(|item| item.state == state).map(|item| item.sort_order).reduce(f64::max);
    // A create uses up a number even if it is rejected later (`items_list_shows_ghost`).
    let record = world.projects.get_mut(project).ok_or_else(Reply::not_found)?;
    record.last_number += 1;
    Ok(Item {
        id: Uuid::new_v4(),
        project,
        workspace: record.workspace,
        created_at: stamp.created_at,
        updated_at: stamp.updated_at,
        created_by: stamp.created_by,
        updated_by: None,
        deleted_at: None,
        name: String::new(),
        description_html: "<p></p>".to_owned(),
        priority: "none",
        point: None,
        start_date: None,
        target_date: None,
        sequence_id: record.last_number,
        // Infinity is inherited (`errors_poison_next_item_inherits`).
        sort_order: last.map_or(65_535.0, |last| last + 10_000.0),
        completed_at: None,
        archived_at: None,
        is_draft: false,
        external: External::default(),
        parent: None,
        state,
        estimate_point: None,
        type_id: None,
        assignees: Vec::new(),
        labels: Vec::new(),
    })
}

/// `POST work-items/`. It has v1's oddities: `created_at` and `created_by` are applied
/// (`items_get_writable_surprises`), an unreadable `created_at` leaves the item behind
/// (`items_create_bad_created_at_leaves_a_ghost`), and an empty `assignees` still gets the default
/// assignee (`items_default_assignee_explicit_empty`).
pub(crate) fn create(call: &Call<'_>, world: &mut World) -> Answer {
    let body = call.body()?;
    let project = call.place.project;
    let mut fields = fields(Form::create(&body)?, call, world)?;
    check(&mut fields, world, project)?;
    let pairs = world.items.of(project).map(|i| (i.id, &i.external));
    if let Some(holder) = pair_holder(&body, pairs) {
        return Err(Reply::external_taken("Issue", holder));
    }
    let state = match fields.state.as_ref() {
        Some(&state) => state,
        None => default_state(world, project),
    };
    let stamp = Stamp::new(call.user, call.now());
    let mut item = blank(world, project, state, &stamp)?;
    let author = fields.created_by.as_ref().copied();
    let born_deleted = matches!(fields.deleted_at, SentValue::Is(_));
    apply(fields, &mut item);
    complete(world, &mut item, call.now());
    fill_defaults(world, &mut item);
    let id = item.id;
    // The answer is written before author and time of the body are stored
    // (`items_create_writable_surprises`).
    let answer = call.write(&FULL, world, &item, render);
    world.items.add(item);
    if born_deleted {
        // `items_create_deleted_at`
        return Err(Reply::crash());
    }
    // The stored time is a little later than the time in the answer (`items_get_minimal`).
    let now = call.now();
    let created_at = sent_created_at(&body)?.unwrap_or(now);
    world.items.change(id, |item| {
        item.created_at = created_at;
        item.created_by = author.or(item.created_by);
    });
    activities::note_created(call, world, id);
    world.touch(id, call.now());
    Ok(Reply::created(answer))
}

/// The state of a work item that is sent without one. In a project without states it is null, here the nil id.
fn default_state(world: &World, project: Id) -> Id {
    states::default_of(world, project).unwrap_or_else(Id::nil)
}

/// Sets the project's default type and default assignee on a new work item that has none.
fn fill_defaults(world: &World, item: &mut Item) {
    item.type_id = item.type_id.or_else(|| world.default_types.get(&item.project).copied());
    if item.assignees.is_empty() {
        let default = world.projects.get(item.project).and_then(|project| project.default_assignee);
        // Only if the person is in the project (`items_default_assignee_not_member_yet`).
        let member = default.and_then(|user| world.active_member(item.project, user));
        item.assignees.extend(member.filter(|member| member.role >= MEMBER).map(|member| member.user));
    }
}

/// `PATCH work-items/{id}/`. `sequence_id`, `sort_order`, `completed_at`, `archived_at`, `is_draft`
/// and even `deleted_at` are writable (`items_patch_sequence_id_accepted`, `deleted_at_by_patch`).
pub(crate) fn update(call: &Call<'_>, world: &mut World) -> Answer {
    let mut item = found(call, world)?.clone();
    let body = call.body()?;
    let mut fields = fields(Form::update(&body)?, call, world)?;
    check(&mut fields, world, item.project)?;
    let others = world.items.of(item.project).filter(|i| i.id != item.id).map(|i| (i.id, &i.external));
    if pair_taken(&body, &item.external, others) {
        // The answer has the id of the item being changed (`items_patch_external_duplicate`).
        return Err(Reply::external_taken("Issue", item.id));
    }
    let now = call.now();
    match fields.state {
        SentValue::Is(state) => item.state = state,
        // Null means the default state (`items_patch_state_null`); so does an item that has no state.
        SentValue::Null => item.state = default_state(world, item.project),
        SentValue::Absent if item.state.is_nil() => item.state = default_state(world, item.project),
        SentValue::Absent => {}
    }
    if fields.state != SentValue::Absent {
        complete(world, &mut item, now);
    }
    fields.completed_at.clone().store_optional(&mut item.completed_at);
    fields.sequence_id.clone().store(&mut item.sequence_id);
    fields.sort_order.clone().store(&mut item.sort_order);
    fields.created_by.clone().store_optional(&mut item.created_by);
    apply(fields, &mut item);
    item.updated_at = now;
    item.updated_by = Some(call.user);
    let answer = call.write(&FULL, world, &item, render);
    let id = item.id;
    world.items.put(item);
    // v1 moves `updated_at` a second time in the background.
    world.touch(id, call.now());
    Ok(Reply::ok(answer))
}

/// `DELETE work-items/{id}/`: allowed for project admins and the item's creator.
pub(crate) fn delete(call: &Call<'_>, world: &mut World) -> Answer {
    let item = found(call, world)?;
    let admin = world.active_member(item.project, call.user).is_some_and(|m| m.role == ADMIN);
    if item.created_by != Some(call.user) && !admin {
        let message = "Only admin or creator can delete the work item";
        return Err(Reply::error(403, message));
    }
    let id = item.id;
    world.delete_item(id, call.now());
    Ok(Reply::no_content())
}

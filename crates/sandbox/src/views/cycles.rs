//! Cycles: list, detail, create, update, delete, archive. May use: `door`, `forms`, `lists`, `records`, this folder.

use jiff::Timestamp;
use jiff::civil::Time;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::door::auth::ADMIN;
use crate::door::body::Body;
use crate::door::call::{Call, SentExternal, pair_holder, pair_taken};
use crate::door::http::{Answer, Reply};
use crate::forms::fields::{FULL, Row};
use crate::forms::validate::{Form, SentValue, Text};
use crate::forms::values;
use crate::lists::paging::paginate;
use crate::records::kinds::{Cycle, External, Stamp};
use crate::records::store::World;
use crate::records::table::Id;

/// Writes a cycle without its counts, for the answers to writes (`cycles_patch_name`).
fn render(row: &mut Row<'_>, _: &World, cycle: &Cycle) {
    row.id(cycle.id);
    tail(row, cycle);
}

/// Writes a cycle with its counts, for lists and details.
fn render_counted(row: &mut Row<'_>, world: &World, cycle: &Cycle) {
    row.id(cycle.id);
    counts(row, world, cycle);
    tail(row, cycle);
}

/// Writes an archived cycle, which has three additional keys (`cycles_archived_list`).
fn render_archived(row: &mut Row<'_>, world: &World, cycle: &Cycle) {
    row.id(cycle.id);
    counts(row, world, cycle);
    row.set("total_estimates", Value::Null)
        .set("completed_estimates", Value::Null)
        .set("started_estimates", Value::Null);
    tail(row, cycle);
}

/// Writes the counts of a cycle's work items. Items of other projects count too (`cycles_get_counts`).
fn counts(row: &mut Row<'_>, world: &World, cycle: &Cycle) {
    let groups = || {
        rows(world, cycle.project, cycle.id).filter_map(|r| {
            let item = world.items.get(r.item)?;
            if item.archived_at.is_some() || item.is_draft {
                return None;
            }
            world.states.any(item.state).map(|state| state.group.as_str())
        })
    };
    row.with("total_issues", || json!(groups().count()));
    for (name, group) in crate::views::modules::GROUP_COUNTS {
        row.with(name, || json!(groups().filter(|g| *g == group).count()));
    }
}

fn tail(row: &mut Row<'_>, cycle: &Cycle) {
    row.stamps(&cycle.stamp, cycle.deleted_at)
        .set("name", cycle.name.as_str())
        .set("description", cycle.description.as_str())
        .instant("start_date", cycle.start_date)
        .instant("end_date", cycle.end_date)
        .with("view_props", || json!({}))
        .float("sort_order", cycle.sort_order)
        .external(&cycle.external)
        .with("progress_snapshot", || json!({}))
        .instant("archived_at", cycle.archived_at)
        .with("logo_props", || json!({}))
        .set("timezone", cycle.timezone.as_str())
        .set("version", 1)
        .origin(&cycle.stamp, cycle.project, cycle.workspace)
        .person("owned_by", Some(cycle.owned_by));
}

/// The membership rows of a cycle, oldest first.
pub(crate) fn rows(
    world: &World,
    project: Id,
    cycle: Id,
) -> impl Iterator<Item = &crate::records::kinds::CycleItem> {
    world.cycle_items.of(project).filter(move |row| row.cycle == cycle)
}

/// The cycles of a project, newest first.
fn newest(world: &World, project: Id, archived: bool) -> Vec<&Cycle> {
    if !world.readable(project) {
        return Vec::new();
    }
    let mut cycles: Vec<&Cycle> =
        world.cycles.of(project).filter(|cycle| cycle.archived_at.is_some() == archived).collect();
    cycles.sort_by_key(|cycle| std::cmp::Reverse(cycle.stamp.created_at));
    cycles
}

/// `GET cycles/`: `cycle_view` is the only filter, and its value `current` returns a bare array
/// (`cycles_list_view_current_is_bare_array`).
pub(crate) fn list(call: &Call<'_>, world: &World) -> Answer {
    let now = call.now();
    let view = call.query.get("cycle_view").unwrap_or_default();
    let mut cycles = newest(world, call.place.project, false);
    cycles.retain(|cycle| {
        let (start, end) = (cycle.start_date, cycle.end_date);
        match view {
            "current" => start.is_some_and(|s| s <= now) && end.is_some_and(|e| e >= now),
            "upcoming" => start.is_some_and(|s| s > now),
            "completed" => end.is_some_and(|e| e < now),
            "draft" => start.is_none() && end.is_none(),
            "incomplete" => end.is_none_or(|e| e >= now),
            _ => true,
        }
    });
    let shape = call.shape();
    let write = |cycle: &Cycle| call.write(&shape, world, cycle, render_counted);
    if view == "current" {
        return Ok(Reply::ok(Value::Array(cycles.into_iter().map(write).collect())));
    }
    paginate(&call.query, &cycles, |cycle| write(cycle))
}

/// `GET archived-cycles/`.
pub(crate) fn list_archived(call: &Call<'_>, world: &World) -> Answer {
    let shape = call.shape();
    let cycles = newest(world, call.place.project, true);
    paginate(&call.query, &cycles, |cycle| call.write(&shape, world, *cycle, render_archived))
}

/// The cycle in the path, archived or not.
pub(crate) fn found<'w>(call: &Call<'_>, world: &'w World) -> Result<&'w Cycle, Reply> {
    world.cycles.get(call.place.id).filter(|cycle| cycle.project == call.place.project).ok_or_else(Reply::not_found)
}

/// `GET cycles/{id}/`: an archived cycle is not found (`cycles_archived_get`).
pub(crate) fn read(call: &Call<'_>, world: &World) -> Answer {
    let cycle = found(call, world)?;
    if cycle.archived_at.is_some() || !world.readable(cycle.project) {
        return Err(Reply::not_found());
    }
    let shape = call.shape();
    Ok(Reply::ok(call.write(&shape, world, cycle, render_counted)))
}

struct Fields {
    name: SentValue<String>,
    description: SentValue<String>,
    start_date: SentValue<Timestamp>,
    end_date: SentValue<Timestamp>,
    timezone: SentValue<String>,
    owned_by: SentValue<Id>,
    external: SentExternal,
}

fn fields(mut form: Form<'_>, call: &Call<'_>, world: &World) -> Result<Fields, Reply> {
    let exists = |user: Id| world.users.get(user).is_some();
    let fields = Fields {
        name: form.text("name", Text::REQUIRED),
        description: form.text("description", Text::BLANK.long()),
        start_date: form.instant("start_date", &call.zone),
        end_date: form.instant("end_date", &call.zone),
        // Any person may own a cycle (`cycles_create_owner_outsider_accepted`).
        owned_by: form.relation("owned_by", false, true, exists),
        external: SentExternal::read(&mut form),
        timezone: form.zone("timezone"),
    };
    form.finish()?;
    Ok(fields)
}

/// Checks against the project named in the body, which may differ from the project of the path
/// (`cycles_create_project_id_other_project`). Turns two dates sent together into whole days in
/// that project's zone (`cycles_create_full`, `cycles_create_in_kolkata_project`).
fn check(
    mut fields: Fields,
    body: &Body,
    own: Option<Id>,
    call: &Call<'_>,
    world: &World,
) -> Result<Fields, Reply> {
    let project = match body.truthy("project_id") {
        Some(text) => {
            values::id(&text).ok_or_else(|| Reply::non_field(&format!("“{text}” is not a valid UUID.")))?
        }
        None => own.ok_or_else(|| Reply::non_field("Project ID is required"))?,
    };
    let project = world.projects.get(project).ok_or_else(|| Reply::non_field("Project not found"))?;
    if !project.cycle_view {
        let message = "Cycles are not enabled for this project";
        return Err(Reply::non_field(message));
    }
    if let (SentValue::Is(start), SentValue::Is(end)) = (&fields.start_date, &fields.end_date) {
        if start > end {
            return Err(Reply::non_field("Start date cannot exceed end date"));
        }
        // The day is read in the caller's zone; the times are set in the project's zone
        // (`tz_cycle_create_kim`, `tz_cycle_create_date_only_nia`).
        let zone = TimeZone::get(&project.timezone).unwrap_or(TimeZone::UTC);
        let now = call.now();
        let at = |instant: Timestamp, time: Time| {
            let day = call.zone.to_datetime(instant).date();
            zone.to_timestamp(day.to_datetime(time)).unwrap_or(instant)
        };
        let today = zone.to_datetime(now).date();
        let first = if call.zone.to_datetime(*start).date() == today {
            now
        } else {
            at(*start, Time::constant(0, 0, 1, 0))
        };
        let last = at(*end, Time::constant(23, 59, 0, 0));
        fields.start_date = SentValue::Is(first);
        fields.end_date = SentValue::Is(last);
    }
    Ok(fields)
}

fn apply(fields: Fields, cycle: &mut Cycle) {
    fields.name.store(&mut cycle.name);
    fields.description.store(&mut cycle.description);
    fields.start_date.store_optional(&mut cycle.start_date);
    fields.end_date.store_optional(&mut cycle.end_date);
    fields.timezone.store(&mut cycle.timezone);
    fields.external.store(&mut cycle.external);
}

/// `POST cycles/`: names are not unique (`cycles_create_duplicate_name_accepted`); `sort_order` and
/// `logo_props` are ignored.
pub(crate) fn create(call: &Call<'_>, world: &mut World) -> Answer {
    let body = call.body()?;
    // The dates are checked before the body's type (`cycles_create_array_body`).
    if body.is_array() {
        return Err(Reply::crash());
    }
    if body.given("start_date") != body.given("end_date") {
        return Err(Reply::error(400, "Both start date and end date are either required or are to be null"));
    }
    let fields = fields(Form::create(&body)?, call, world)?;
    let fields = check(fields, &body, None, call, world)?;
    let project = call.place.project;
    let pairs = world.cycles.of(project).map(|c| (c.id, &c.external));
    if let Some(holder) = pair_holder(&body, pairs) {
        return Err(Reply::external_taken("Cycle", holder));
    }
    let owner = fields.owned_by.as_ref().copied().unwrap_or(call.user);
    let mut cycle = blank(world, project, owner, Stamp::new(call.user, call.now()))?;
    apply(fields, &mut cycle);
    let answer = call.write(&FULL, world, &cycle, render);
    world.cycles.add(cycle);
    Ok(Reply::created(answer))
}

/// Creates a cycle with v1's defaults, sorted before the other cycles of the project.
pub(crate) fn blank(world: &World, project: Id, owner: Id, stamp: Stamp) -> Result<Cycle, Reply> {
    let workspace = world.projects.get(project).ok_or_else(Reply::not_found)?.workspace;
    let least = world.cycles.of(project).map(|cycle| cycle.sort_order).reduce(f64::min);
    Ok(Cycle {
        id: Uuid::new_v4(),
        project,
        workspace,
        stamp,
        deleted_at: None,
        archived_at: None,
        name: String::new(),
        description: String::new(),
        start_date: None,
        end_date: None,
        timezone: "UTC".to_owned(),
        sort_order: least.map_or(65_535.0, |least| least - 10_000.0),
        owned_by: owner,
        external: External::default(),
    })
}

/// `PATCH cycles/{id}/`: a caller that names no owner becomes the owner (`cycles_patch_owner_null_takes_over`). An
/// ended cycle rejects the update, unless `sort_order` is in the body (`cycles_patch_completed_smuggled`).
pub(crate) fn update(call: &Call<'_>, world: &mut World) -> Answer {
    let mut cycle = found(call, world)?.clone();
    if cycle.archived_at.is_some() {
        return Err(Reply::error(400, "Archived cycle cannot be edited"));
    }
    let body = call.body()?;
    let ended = cycle.end_date.is_some_and(|end| end < call.now());
    if ended && body.get("sort_order").is_none() {
        return Err(Reply::error(400, "The Cycle has already been completed so it cannot be edited"));
    }
    let fields = fields(Form::update(&body)?, call, world)?;
    let fields = check(fields, &body, Some(cycle.project), call, world)?;
    let others = world.cycles.of(cycle.project).filter(|c| c.id != cycle.id).map(|c| (c.id, &c.external));
    if pair_taken(&body, &cycle.external, others) {
        return Err(Reply::external_taken("Cycle", cycle.id));
    }
    cycle.owned_by = fields.owned_by.as_ref().copied().unwrap_or(call.user);
    apply(fields, &mut cycle);
    cycle.stamp.change(call.user, call.now());
    let answer = call.write(&FULL, world, &cycle, render);
    world.cycles.put(cycle);
    Ok(Reply::ok(answer))
}

/// `DELETE cycles/{id}/`: allowed for project admins and the owner. Work items stay, and their `updated_at`
/// moves (`updated_after_cycle_delete`).
pub(crate) fn delete(call: &Call<'_>, world: &mut World) -> Answer {
    let cycle = found(call, world)?;
    let admin = world.active_member(cycle.project, call.user).is_some_and(|m| m.role == ADMIN);
    if cycle.owned_by != call.user && !admin {
        let message = "Only admin or creator can delete the cycle";
        return Err(Reply::error(403, message));
    }
    let (id, project) = (cycle.id, cycle.project);
    let now = call.now();
    let items: Vec<Id> = rows(world, project, id).map(|row| row.item).collect();
    world.cycle_items.change_of(project, |row| {
        if row.cycle == id {
            row.deleted_at = Some(now);
        }
    });
    for item in items {
        world.touch(item, call.now());
    }
    world.cycles.change(id, |cycle| cycle.deleted_at = Some(now));
    Ok(Reply::no_content())
}

/// `POST cycles/{id}/archive/`: only for ended cycles. Without an end date the comparison fails
/// (`cycles_archive_not_completed`).
pub(crate) fn archive(call: &Call<'_>, world: &mut World) -> Answer {
    let cycle = found(call, world)?;
    let end = cycle.end_date.ok_or_else(Reply::crash)?;
    let now = call.now();
    if end >= now {
        return Err(Reply::error(400, "Only completed cycles can be archived"));
    }
    let id = cycle.id;
    world.cycles.change(id, |cycle| cycle.archived_at = Some(now));
    Ok(Reply::no_content())
}

/// `DELETE archived-cycles/{id}/unarchive/`.
pub(crate) fn unarchive(call: &Call<'_>, world: &mut World) -> Answer {
    let id = found(call, world)?.id;
    world.cycles.change(id, |cycle| cycle.archived_at = None);
    Ok(Reply::no_content())
}

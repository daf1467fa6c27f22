//! Modules: list, detail, create, update, delete, archive. May use: `door`, `forms`, `lists`, `records`.

use std::collections::BTreeSet;

use jiff::civil::Date;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::door::auth::ADMIN;
use crate::door::call::{Call, SentExternal, pair_holder, pair_taken};
use crate::door::http::{Answer, Reply};
use crate::forms::fields::{FULL, Row, person};
use crate::forms::validate::{Form, SentValue, Text};
use crate::lists::paging::paginate;
use crate::records::kinds::{External, Module, Stamp};
use crate::records::store::World;
use crate::records::table::Id;

const STATUSES: [&str; 6] = ["backlog", "planned", "in-progress", "paused", "completed", "cancelled"];

/// The keys of the counts for each group, in the order of the answers.
pub(crate) const GROUP_COUNTS: [(&str, &str); 5] = [
    ("cancelled_issues", "cancelled"),
    ("completed_issues", "completed"),
    ("started_issues", "started"),
    ("unstarted_issues", "unstarted"),
    ("backlog_issues", "backlog"),
];

/// Writes a module without its counts, for the answer to a create.
fn render(row: &mut Row<'_>, world: &World, module: &Module) {
    row.id(module.id);
    tail(row, world, module);
}

/// Writes a module with its counts. v1 counts distinct groups, so the count of each group is 0 or 1
/// (`modules_get_counts`); the total is correct.
fn render_counted(row: &mut Row<'_>, world: &World, module: &Module) {
    let items = || {
        world
            .module_items
            .of(module.id)
            .filter_map(|link| world.items.get(link.item))
            .filter(|item| item.archived_at.is_none() && !item.is_draft)
    };
    row.id(module.id).with("total_issues", || json!(items().count()));
    let groups: BTreeSet<&str> =
        items().filter_map(|item| world.states.any(item.state)).map(|state| state.group.as_str()).collect();
    for (name, group) in GROUP_COUNTS {
        row.set(name, u8::from(groups.contains(group)));
    }
    tail(row, world, module);
}

fn tail(row: &mut Row<'_>, world: &World, module: &Module) {
    row.stamps(&module.stamp, module.deleted_at)
        .set("name", module.name.as_str())
        .set("description", module.description.as_str())
        .set("description_text", Value::Null)
        .set("description_html", Value::Null)
        .day("start_date", module.start_date)
        .day("target_date", module.target_date)
        .set("status", module.status.as_str())
        .with("view_props", || json!({}))
        .float("sort_order", module.sort_order)
        .external(&module.external)
        .instant("archived_at", module.archived_at)
        .with("logo_props", || json!({}))
        .origin(&module.stamp, module.project, module.workspace)
        .reference("lead", module.lead);
    // `members` is always present, whatever `fields` says (`modules_list_fields_members_always_there`). The youngest
    // account comes first.
    let mut members = module.members.clone();
    members.sort_by_key(|&user| std::cmp::Reverse(world.users.position(user)));
    row.always("members", |expanded| {
        if expanded {
            let people = members.iter().filter_map(|&user| world.users.get(user));
            Value::Array(people.map(person).collect())
        } else {
            json!(members)
        }
    });
}

/// The modules of a project, newest first.
fn newest(world: &World, project: Id, archived: bool) -> Vec<&Module> {
    if !world.readable(project) {
        return Vec::new();
    }
    let mut modules: Vec<&Module> =
        world.modules.of(project).filter(|module| module.archived_at.is_some() == archived).collect();
    modules.sort_by_key(|module| std::cmp::Reverse(module.stamp.created_at));
    modules
}

fn page(call: &Call<'_>, world: &World, archived: bool) -> Answer {
    let shape = call.shape();
    let modules = newest(world, call.place.project, archived);
    paginate(&call.query, &modules, |module| call.write(&shape, world, *module, render_counted))
}

/// `GET modules/`.
pub(crate) fn list(call: &Call<'_>, world: &World) -> Answer {
    page(call, world, false)
}

/// `GET archived-modules/`.
pub(crate) fn list_archived(call: &Call<'_>, world: &World) -> Answer {
    page(call, world, true)
}

/// The module in the path, archived or not.
pub(crate) fn found<'w>(call: &Call<'_>, world: &'w World) -> Result<&'w Module, Reply> {
    world
        .modules
        .get(call.place.id)
        .filter(|module| module.project == call.place.project)
        .ok_or_else(Reply::not_found)
}

/// `GET modules/{id}/`: an archived module is not found (`modules_archived_get`).
pub(crate) fn read(call: &Call<'_>, world: &World) -> Answer {
    let module = found(call, world)?;
    if module.archived_at.is_some() || !world.readable(module.project) {
        return Err(Reply::not_found());
    }
    let shape = call.shape();
    Ok(Reply::ok(call.write(&shape, world, module, render_counted)))
}

struct Fields {
    name: SentValue<String>,
    description: SentValue<String>,
    status: SentValue<&'static str>,
    start_date: SentValue<Date>,
    target_date: SentValue<Date>,
    lead: SentValue<Id>,
    members: SentValue<Vec<Id>>,
    external: SentExternal,
}

/// Reads the fields. Any person may be the lead (`modules_create_lead_outsider_accepted`). Dates are compared
/// only when sent together (`modules_patch_target_before_stored_start_accepted`). People who are not
/// in the project are dropped from `members` (`modules_create_full`).
fn fields(mut form: Form<'_>, world: &World, project: Id) -> Result<Fields, Reply> {
    let exists = |user: Id| world.users.get(user).is_some();
    let mut fields = Fields {
        name: form.text("name", Text::REQUIRED),
        description: form.text("description", Text::BLANK.long()),
        start_date: form.day("start_date"),
        target_date: form.day("target_date"),
        status: form.choice("status", &STATUSES),
        lead: form.relation("lead", false, true, exists),
        members: form.relations("members", exists),
        external: SentExternal::read(&mut form),
    };
    form.finish()?;
    if world.projects.get(project).is_some_and(|p| !p.module_view) {
        let message = "Modules are not enabled for this project";
        return Err(Reply::non_field(message));
    }
    if let (SentValue::Is(start), SentValue::Is(target)) = (&fields.start_date, &fields.target_date)
        && start > target
    {
        return Err(Reply::non_field("Start date cannot exceed target date"));
    }
    if let SentValue::Is(members) = &mut fields.members {
        members.retain(|&user| world.project_members.of(project).any(|m| m.user == user));
    }
    Ok(fields)
}

fn apply(fields: Fields, module: &mut Module) {
    fields.name.store(&mut module.name);
    fields.description.store(&mut module.description);
    fields.start_date.store_optional(&mut module.start_date);
    fields.target_date.store_optional(&mut module.target_date);
    fields.lead.store_optional(&mut module.lead);
    fields.external.store(&mut module.external);
    if let SentValue::Is(status) = fields.status {
        status.clone_into(&mut module.status);
    }
    // Removed memberships are still shown, so a list only adds people
    // (`modules_get_after_members_empty`, `modules_get_after_members_again`).
    if let SentValue::Is(members) = fields.members {
        module.members.extend(members);
    }
}

/// `POST modules/`: a name conflict is a 400 with a code of its own
/// (`modules_create_duplicate_name`). Archived modules keep their names
/// (`modules_archived_name_still_taken`).
pub(crate) fn create(call: &Call<'_>, world: &mut World) -> Answer {
    let body = call.body()?;
    let project = call.place.project;
    world.projects.get(project).ok_or_else(Reply::not_found)?;
    let fields = fields(Form::create(&body)?, world, project)?;
    let pairs = world.modules.of(project).map(|m| (m.id, &m.external));
    if let Some(holder) = pair_holder(&body, pairs) {
        return Err(Reply::external_taken("Module", holder));
    }
    if let Some(holder) = fields.name.as_ref().and_then(|name| world.modules.of(project).find(|m| m.name == *name))
    {
        let message = "Module with this name already exists";
        return Err(Reply::json(
            400,
            json!({
                "id": holder.id,
                "code": "MODULE_NAME_ALREADY_EXISTS",
                "error": message,
                "message": message,
            }),
        ));
    }
    let mut module = blank(world, project, Stamp::new(call.user, call.now()))?;
    apply(fields, &mut module);
    let answer = call.write(&FULL, world, &module, render);
    world.modules.add(module);
    Ok(Reply::created(answer))
}

/// Creates a module with v1's defaults, sorted before the other modules of the project.
pub(crate) fn blank(world: &World, project: Id, stamp: Stamp) -> Result<Module, Reply> {
    let workspace = world.projects.get(project).ok_or_else(Reply::not_found)?.workspace;
    let least = world.modules.of(project).map(|module| module.sort_order).reduce(f64::min);
    Ok(Module {
        id: Uuid::new_v4(),
        project,
        workspace,
        stamp,
        deleted_at: None,
        archived_at: None,
        name: String::new(),
        description: String::new(),
        status: "planned".to_owned(),
        start_date: None,
        target_date: None,
        lead: None,
        members: Vec::new(),
        sort_order: least.map_or(65_535.0, |least| least - 10_000.0),
        external: External::default(),
    })
}

/// `PATCH modules/{id}/`: returns only the writable fields (`modules_patch_name`).
pub(crate) fn update(call: &Call<'_>, world: &mut World) -> Answer {
    let mut module = found(call, world)?.clone();
    if module.archived_at.is_some() {
        return Err(Reply::error(400, "Archived module cannot be edited"));
    }
    let body = call.body()?;
    let fields = fields(Form::update(&body)?, world, module.project)?;
    let others = || world.modules.of(module.project).filter(|m| m.id != module.id);
    if pair_taken(&body, &module.external, others().map(|m| (m.id, &m.external))) {
        return Err(Reply::external_taken("Module", module.id));
    }
    if let SentValue::Is(name) = &fields.name
        && others().any(|m| m.name == *name)
    {
        return Err(Reply::error(400, "Module with this name already exists"));
    }
    apply(fields, &mut module);
    module.stamp.change(call.user, call.now());
    let answer = call.write(&FULL, world, &module, |row, _, module| {
        row.set("name", module.name.as_str())
            .set("description", module.description.as_str())
            .day("start_date", module.start_date)
            .day("target_date", module.target_date)
            .set("status", module.status.as_str())
            .reference("lead", module.lead)
            .external(&module.external);
    });
    world.modules.put(module);
    Ok(Reply::ok(answer))
}

/// `DELETE modules/{id}/`: allowed for project admins and the module's creator. Work items do not change
/// (`updated_after_module_delete`).
pub(crate) fn delete(call: &Call<'_>, world: &mut World) -> Answer {
    let module = found(call, world)?;
    let admin = world.active_member(module.project, call.user).is_some_and(|m| m.role == ADMIN);
    if module.stamp.created_by != Some(call.user) && !admin {
        let message = "Only admin or creator can delete the module";
        return Err(Reply::error(403, message));
    }
    let id = module.id;
    let now = call.now();
    world.modules.change(id, |module| module.deleted_at = Some(now));
    world.module_items.change_of(id, |row| row.deleted_at = Some(now));
    Ok(Reply::no_content())
}

/// `POST modules/{id}/archive/`: only for completed or cancelled modules.
pub(crate) fn archive(call: &Call<'_>, world: &mut World) -> Answer {
    let module = found(call, world)?;
    if !matches!(module.status.as_str(), "completed" | "cancelled") {
        return Err(Reply::error(400, "Only completed or cancelled modules can be archived"));
    }
    let id = module.id;
    let now = call.now();
    world.modules.change(id, |module| module.archived_at = Some(now));
    Ok(Reply::no_content())
}

/// `DELETE archived-modules/{id}/unarchive/`.
pub(crate) fn unarchive(call: &Call<'_>, world: &mut World) -> Answer {
    let id = found(call, world)?.id;
    world.modules.change(id, |module| module.archived_at = None);
    Ok(Reply::no_content())
}

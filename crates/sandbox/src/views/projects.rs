//! Projects: list, detail, create, update, archive, delete, and the summary of counts. May use: `door`, `forms`,
//! `lists`, `records`, this folder.

use std::cmp::Ordering;

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::door::auth::ADMIN;
use crate::door::call::{Call, SentExternal};
use crate::door::http::{Answer, Reply};
use crate::forms::fields::{FULL, Row, Shape};
use crate::forms::validate::{Form, SentValue, Text};
use crate::lists::paging::paginate;
use crate::records::kinds::{External, Project, Stamp};
use crate::records::store::World;
use crate::records::table::Id;
use crate::views::members::join;
use crate::views::states;

/// The icons a new project may get.
const ICONS: [(&str, &str); 6] = [
    ("home", "#5e6ad2"),
    ("add_task", "#6d7b8a"),
    ("done", "#5e6ad2"),
    ("rocket_launch", "#eb5757"),
    ("extension", "#02b5ed"),
    ("lightbulb", "#f2be02"),
];
/// Characters that an identifier must not have; blanks are allowed
/// (`projects_create_identifier_with_space`).
const SPECIAL: &str = "&+,:;$^}{*=?@#|'<>.()%!-";
const LARGEST_COUNT: i64 = 12;

/// A switch of a project.
struct Flag {
    name: &'static str,
    of: fn(&Project) -> bool,
    place: fn(&mut Project) -> &mut bool,
}

macro_rules! flag {
    ($name:ident) => {
        Flag { name: stringify!($name), of: |project| project.$name, place: |project| &mut project.$name }
    };
}

const FLAGS: [Flag; 8] = [
    flag!(module_view),
    flag!(cycle_view),
    flag!(issue_views_view),
    flag!(page_view),
    flag!(intake_view),
    flag!(is_time_tracking_enabled),
    flag!(is_issue_type_enabled),
    flag!(guest_view_all_features),
];

/// Writes a project as a caller sees it. Only lists show the caller's `sort_order`.
fn render(row: &mut Row<'_>, world: &World, project: &Project, user: Id, in_list: bool) {
    let member = world.active_member(project.id, user);
    row.id(project.id)
        .with("total_members", || {
            let members = world.project_members.of(project.id);
            json!(members.filter(|m| m.active).count())
        })
        .with("total_cycles", || json!(world.cycles.of(project.id).count()))
        .with("total_modules", || json!(world.modules.of(project.id).count()))
        .set("is_member", member.is_some());
    if in_list {
        row.set("sort_order", member.map(|m| m.sort_order));
    }
    row.set("member_role", member.map(|m| m.role))
        .set("is_deployed", false)
        .set("cover_image_url", Value::Null)
        .stamps(&project.stamp, project.deleted_at)
        .set("name", project.name.as_str())
        .set("description", project.description.as_str())
        .set("description_text", Value::Null)
        .set("description_html", Value::Null)
        .set("network", project.network)
        .set("identifier", project.identifier.as_str())
        .set("emoji", project.emoji.clone())
        .set("icon_prop", Value::Null);
    for flag in FLAGS {
        row.set(flag.name, (flag.of)(project));
    }
    row.set("cover_image", project.cover_image.clone())
        .set("archive_in", project.archive_in)
        .set("close_in", project.close_in)
        .with("logo_props", || project.logo_props.clone())
        .instant("archived_at", project.archived_at)
        .set("timezone", project.timezone.as_str())
        .external(&project.external)
        .person("created_by", project.stamp.created_by)
        .person("updated_by", project.stamp.updated_by)
        .workspace(project.workspace)
        .person("default_assignee", project.default_assignee)
        .person("project_lead", project.project_lead)
        .reference("cover_image_asset", None)
        .reference("estimate", project.estimate)
        .reference("default_state", project.default_state);
}

fn write(call: &Call<'_>, world: &World, shape: &Shape<'_>, project: &Project) -> Value {
    call.write(shape, world, project, |row, world, project| {
        render(row, world, project, call.user, false);
    })
}

/// The projects of the workspace that are public or have the caller as a member, archived ones included
/// (`projects_archived_in_list`).
fn visible<'w>(call: &Call<'_>, world: &'w World) -> Vec<&'w Project> {
    let Some(workspace) = world.workspace(&call.place.slug) else {
        return Vec::new();
    };
    world
        .projects
        .of(workspace.id)
        .filter(|p| p.network == 2 || world.active_member(p.id, call.user).is_some())
        .collect()
}

type Compare = fn(&Project, &Project) -> Ordering;

/// The order of projects by a field; `None` for a name that is no field, which is a 500
/// (`projects_list_order_unknown`).
fn ordering(field: &str) -> Option<Compare> {
    Some(match field {
        "id" | "pk" => |a, b| a.id.cmp(&b.id),
        "name" => |a, b| a.name.cmp(&b.name),
        "identifier" => |a, b| a.identifier.cmp(&b.identifier),
        "description" => |a, b| a.description.cmp(&b.description),
        "network" => |a, b| a.network.cmp(&b.network),
        "timezone" => |a, b| a.timezone.cmp(&b.timezone),
        "created_at" => |a, b| a.stamp.created_at.cmp(&b.stamp.created_at),
        "updated_at" => |a, b| a.stamp.updated_at.cmp(&b.stamp.updated_at),
        "archived_at" => |a, b| none_last(&a.archived_at, &b.archived_at),
        "external_id" => |a, b| none_last(&a.external.id, &b.external.id),
        "external_source" => |a, b| none_last(&a.external.source, &b.external.source),
        "archive_in" => |a, b| a.archive_in.cmp(&b.archive_in),
        "close_in" => |a, b| a.close_in.cmp(&b.close_in),
        "module_view" => |a, b| a.module_view.cmp(&b.module_view),
        "cycle_view" => |a, b| a.cycle_view.cmp(&b.cycle_view),
        "page_view" => |a, b| a.page_view.cmp(&b.page_view),
        "intake_view" => |a, b| a.intake_view.cmp(&b.intake_view),
        "is_issue_type_enabled" => |a, b| a.is_issue_type_enabled.cmp(&b.is_issue_type_enabled),
        _ => return None,
    })
}

fn none_last<T: Ord>(a: &Option<T>, b: &Option<T>) -> Ordering {
    (a.is_none(), a).cmp(&(b.is_none(), b))
}

/// `GET projects/`: by default in the caller's own order; projects of which the caller is no member come last.
pub(crate) fn list(call: &Call<'_>, world: &World) -> Answer {
    let mut projects = visible(call, world);
    match call.query.get("order_by") {
        None => {
            let order = |p: &Project| world.active_member(p.id, call.user).map(|m| m.sort_order);
            projects.sort_by(|a, b| match (order(a), order(b)) {
                (Some(a), Some(b)) => a.total_cmp(&b),
                (a, b) => a.is_none().cmp(&b.is_none()),
            });
        }
        Some(text) => {
            let (descending, field) = match text.strip_prefix('-') {
                Some(field) => (true, field),
                None => (false, text),
            };
            let compare = ordering(field).ok_or_else(Reply::crash)?;
            projects.sort_by(|a, b| {
                let order = compare(a, b);
                if descending { order.reverse() } else { order }
            });
        }
    }
    let shape = call.shape();
    paginate(&call.query, &projects, |project| {
        call.write(&shape, world, *project, |row, world, project| {
            render(row, world, project, call.user, true);
        })
    })
}

/// `GET projects/{id}/`: a private project of which the caller is no member is not found
/// (`projects_get_private_by_non_member_admin`).
pub(crate) fn read(call: &Call<'_>, world: &World) -> Answer {
    let project =
        visible(call, world).into_iter().find(|p| p.id == call.place.project).ok_or_else(Reply::not_found)?;
    Ok(Reply::ok(write(call, world, &call.shape(), project)))
}

/// Stores the fields of a body in a project, and checks it against the other projects of the workspace.
fn apply(mut form: Form<'_>, call: &Call<'_>, world: &World, project: &mut Project) -> Result<(), Reply> {
    let identifier = plain_fields(&mut form, project);
    let assignee = related_fields(&mut form, world, project);
    form.finish()?;
    if let SentValue::Is(text) = identifier {
        // `projects_create_special_identifier`
        if text.contains(|c| SPECIAL.contains(c)) {
            return Err(Reply::non_field("Project identifier cannot contain special characters."));
        }
        project.identifier = text.to_uppercase();
    }
    if assignee.as_ref().is_some_and(|&user| !belongs(world, project.workspace, user)) {
        return Err(Reply::non_field("Default assignee should be a user in the workspace"));
    }
    assignee.store_optional(&mut project.default_assignee);
    // Both conflicts have the same message (`projects_create_duplicate_identifier`).
    let clash = world.projects.of(project.workspace).any(|other| {
        other.id != project.id && (other.name == project.name || other.identifier == project.identifier)
    });
    if clash {
        return Err(Reply::json(409, json!({ "name": "The project name is already taken" })));
    }
    if project.intake_view && project.intake.is_none() {
        project.intake = Some(Uuid::new_v4());
    }
    project.stamp.updated_at = call.now();
    Ok(())
}

/// Reads the fields that refer to no other record. The identifier is checked later.
fn plain_fields(form: &mut Form<'_>, project: &mut Project) -> SentValue<String> {
    form.text("name", Text::REQUIRED).store(&mut project.name);
    let identifier = form.text("identifier", Text::REQUIRED.max(12));
    form.text("description", Text::BLANK.long()).store(&mut project.description);
    form.text("emoji", Text::NULL).store_optional(&mut project.emoji);
    form.text("cover_image", Text::NULL.long()).store_optional(&mut project.cover_image);
    for flag in FLAGS {
        form.flag(flag.name).store((flag.place)(project));
    }
    form.whole("archive_in", false, 0, LARGEST_COUNT).store(&mut project.archive_in);
    form.whole("close_in", false, 0, LARGEST_COUNT).store(&mut project.close_in);
    form.zone("timezone").store(&mut project.timezone);
    SentExternal::read(form).store(&mut project.external);
    identifier
}

/// Reads the fields that refer to other records. The default assignee is checked later.
fn related_fields(form: &mut Form<'_>, world: &World, project: &mut Project) -> SentValue<Id> {
    let exists = |user: Id| world.users.get(user).is_some();
    let lead = form.relation("project_lead", false, true, exists);
    if lead.as_ref().is_some_and(|&user| !belongs(world, project.workspace, user)) {
        form.refuse("project_lead", "The provided user is not a member of this workspace.");
    }
    lead.store_optional(&mut project.project_lead);
    let assignee = form.relation("default_assignee", false, true, exists);
    let own = project.id;
    form.relation("default_state", false, true, |id| world.states.get(id).is_some_and(|s| s.project == own))
        .store_optional(&mut project.default_state);
    form.relation("estimate", false, true, |id| {
        world.estimate_points.iter().any(|point| point.estimate == id && point.project == own)
    })
    .store_optional(&mut project.estimate);
    assignee
}

fn belongs(world: &World, workspace: Id, user: Id) -> bool {
    world.workspace_members.of(workspace).any(|member| member.user == user)
}

/// Creates a project with v1's defaults: cycles and modules are off.
pub(crate) fn blank(id: Id, workspace: Id, stamp: Stamp) -> Project {
    let (icon, color) = ICONS[usize::from(id.as_bytes()[0]) % ICONS.len()];
    Project {
        id,
        workspace,
        stamp,
        deleted_at: None,
        archived_at: None,
        name: String::new(),
        identifier: String::new(),
        description: String::new(),
        network: 2,
        emoji: None,
        cover_image: None,
        module_view: false,
        cycle_view: false,
        issue_views_view: false,
        page_view: true,
        intake_view: false,
        is_time_tracking_enabled: false,
        is_issue_type_enabled: false,
        guest_view_all_features: false,
        archive_in: 0,
        close_in: 0,
        logo_props: json!({ "icon": { "name": icon, "color": color }, "in_use": "icon" }),
        timezone: "UTC".to_owned(),
        external: External::default(),
        default_assignee: None,
        project_lead: None,
        default_state: None,
        estimate: None,
        intake: None,
        last_number: 0,
    }
}

/// `POST projects/`: the creator becomes a project admin, and so does a lead who is another person. `network` and
/// `logo_props` are ignored (`projects_create_full`).
pub(crate) fn create(call: &Call<'_>, world: &mut World) -> Answer {
    let workspace = world.workspace(&call.place.slug).ok_or_else(Reply::not_found)?.id;
    let body = call.body()?;
    let stamp = Stamp::new(call.user, call.now());
    let mut project = blank(Uuid::new_v4(), workspace, stamp.clone());
    apply(Form::create(&body)?, call, world, &mut project)?;
    let (id, lead) = (project.id, project.project_lead);
    world.projects.add(project);
    join(world, id, call.user, ADMIN);
    if let Some(lead) = lead
        && lead != call.user
    {
        join(world, id, lead, ADMIN);
    }
    states::add_initial(world, id, workspace, &stamp, |_| Uuid::new_v4());
    let project = world.projects.get(id).ok_or_else(Reply::crash)?;
    Ok(Reply::created(write(call, world, &FULL, project)))
}

fn found<'w>(call: &Call<'_>, world: &'w World) -> Result<&'w Project, Reply> {
    world.project_in(&call.place.slug, call.place.project).ok_or_else(Reply::not_found)
}

/// `PATCH projects/{id}/`.
pub(crate) fn update(call: &Call<'_>, world: &mut World) -> Answer {
    let mut project = found(call, world)?.clone();
    if project.archived_at.is_some() {
        return Err(Reply::error(400, "Archived project cannot be updated"));
    }
    let body = call.body()?;
    apply(Form::update(&body)?, call, world, &mut project)?;
    project.stamp.change(call.user, call.now());
    let id = project.id;
    world.projects.put(project);
    let project = world.projects.get(id).ok_or_else(Reply::crash)?;
    Ok(Reply::ok(write(call, world, &FULL, project)))
}

/// `DELETE projects/{id}/`: also deletes the memberships, so everything below the project is forbidden from then on
/// (`projects_deleted_states_later`). Name and identifier are free at once.
pub(crate) fn delete(call: &Call<'_>, world: &mut World) -> Answer {
    let id = found(call, world)?.id;
    let now = call.now();
    world.projects.change(id, |project| project.deleted_at = Some(now));
    world.project_members.change_of(id, |member| member.deleted_at = Some(now));
    Ok(Reply::no_content())
}

fn set_archived(call: &Call<'_>, world: &mut World, at: Option<Timestamp>) -> Answer {
    let id = found(call, world)?.id;
    if let Some(project) = world.projects.get_mut(id) {
        project.archived_at = at;
        project.stamp.change(call.user, call.clock.now());
    }
    Ok(Reply::no_content())
}

/// `POST projects/{id}/archive/`.
pub(crate) fn archive(call: &Call<'_>, world: &mut World) -> Answer {
    let now = call.now();
    set_archived(call, world, Some(now))
}

/// `DELETE projects/{id}/archive/`.
pub(crate) fn unarchive(call: &Call<'_>, world: &mut World) -> Answer {
    set_archived(call, world, None)
}

/// `GET projects/{id}/summary/`: counts, also of private projects of which the caller is no member
/// (`projects_summary_non_member`). `fields` selects counts (`projects_summary_fields`).
pub(crate) fn summary(call: &Call<'_>, world: &World) -> Answer {
    let project = world
        .project_in(&call.place.slug, call.place.project)
        .ok_or_else(|| Reply::error(404, "Project not found"))?;
    let id = project.id;
    let shape = call.shape();
    let mut counts = Map::new();
    let mut count = |name: &str, number: &dyn Fn() -> usize| {
        if shape.wants(name) {
            counts.insert(name.to_owned(), json!(number()));
        }
    };
    count("modules", &|| world.modules.of(id).count());
    count("states", &|| world.states.of(id).filter(|s| !s.hidden()).count());
    count("cycles", &|| world.cycles.of(id).count());
    count("issues", &|| world.items.of(id).filter(|i| world.shown(i)).count());
    count("pages", &|| 0);
    count("labels", &|| world.labels.of(id).count());
    count("intakes", &|| world.intake.of(id).count());
    count("members", &|| world.project_members.of(id).filter(|m| m.active).count());
    Ok(Reply::ok(json!({
        "id": id,
        "name": project.name,
        "identifier": project.identifier,
        "counts": counts,
    })))
}

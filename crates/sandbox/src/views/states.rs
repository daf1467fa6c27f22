//! States of a project, listed by `sequence`. May use: `door`, `forms`, `lists`, `records`.

use uuid::Uuid;

use crate::door::call::{Call, SentExternal, name_taken, pair_holder, pair_taken};
use crate::door::http::{Answer, Reply};
use crate::forms::fields::{FULL, Row};
use crate::forms::validate::{Form, SentValue, Text};
use crate::forms::values::slug;
use crate::lists::paging::paginate;
use crate::records::kinds::{External, Stamp, State};
use crate::records::store::World;
use crate::records::table::Id;

/// The longest slug that the database accepts. A longer slug is a 500, although names may have 255
/// characters (`states_create_name_101_letters`, `states_create_name_255_cyrillic`).
const LONGEST_SLUG: usize = 100;
const GROUPS: [&str; 6] = ["backlog", "unstarted", "started", "completed", "cancelled", "triage"];

/// Name, colour, group, sequence and default flag of the states that every new project gets. The last state
/// is invisible.
const INITIAL: [(&str, &str, &str, f64, bool); 6] = [
    ("Backlog", "#60646C", "backlog", 15_000.0, true),
    ("Todo", "#60646C", "unstarted", 25_000.0, false),
    ("In Progress", "#F59E0B", "started", 35_000.0, false),
    ("Done", "#46A758", "completed", 45_000.0, false),
    ("Cancelled", "#9AA4BC", "cancelled", 55_000.0, false),
    ("Triage", "#4E5355", "triage", 65_000.0, false),
];

/// Creates a state with v1's defaults.
fn blank(id: Id, project: Id, workspace: Id, stamp: Stamp) -> State {
    State {
        id,
        project,
        workspace,
        stamp,
        deleted_at: None,
        name: String::new(),
        description: String::new(),
        color: String::new(),
        // Initial states have no slug until they are changed (`states_patch_default_true`).
        slug: String::new(),
        sequence: 65_535.0,
        group: "backlog".to_owned(),
        is_triage: false,
        default: false,
        external: External::default(),
    }
}

/// Adds the initial states to a project; `id` returns the id for the number of a state.
pub(crate) fn add_initial(
    world: &mut World,
    project: Id,
    workspace: Id,
    stamp: &Stamp,
    mut id: impl FnMut(usize) -> Id,
) {
    for (index, (name, color, group, sequence, default)) in INITIAL.into_iter().enumerate() {
        world.states.add(State {
            name: name.to_owned(),
            color: color.to_owned(),
            sequence,
            group: group.to_owned(),
            is_triage: group == "triage",
            default,
            ..blank(id(index + 1), project, workspace, stamp.clone())
        });
    }
}

/// Writes a state.
pub(crate) fn render(row: &mut Row<'_>, _: &World, state: &State) {
    row.id(state.id)
        .stamps(&state.stamp, state.deleted_at)
        .set("name", state.name.as_str())
        .set("description", state.description.as_str())
        .set("color", state.color.as_str())
        .set("slug", state.slug.as_str())
        .float("sequence", state.sequence)
        .set("group", state.group.as_str())
        .set("is_triage", state.is_triage)
        .set("default", state.default)
        .external(&state.external)
        .origin(&state.stamp, state.project, state.workspace);
}

/// The states of a project that are not hidden, in `sequence` order.
fn in_sequence(world: &World, project: Id) -> Vec<&State> {
    let mut states: Vec<&State> = world.states.of(project).filter(|state| !state.hidden()).collect();
    states.sort_by(|a, b| a.sequence.total_cmp(&b.sequence));
    states
}

/// The states that a project shows.
fn visible(world: &World, project: Id) -> Vec<&State> {
    if world.readable(project) { in_sequence(world, project) } else { Vec::new() }
}

/// The state of a work item that is sent without one: the first default state in `sequence` order, or else the first
/// state (`states_create_item_with_two_defaults`, `states_create_item_without_default`).
pub(crate) fn default_of(world: &World, project: Id) -> Option<Id> {
    let states = in_sequence(world, project);
    states.iter().find(|state| state.default).or_else(|| states.first()).map(|state| state.id)
}

/// `GET states/`: `order_by` and filters are ignored (`states_list_order_by_ignored`).
pub(crate) fn list(call: &Call<'_>, world: &World) -> Answer {
    let shape = call.shape();
    let states = visible(world, call.place.project);
    paginate(&call.query, &states, |state| call.write(&shape, world, *state, render))
}

fn found<'w>(call: &Call<'_>, world: &'w World) -> Result<&'w State, Reply> {
    world.states.get(call.place.id).filter(|state| state.project == call.place.project).ok_or_else(Reply::not_found)
}

/// `GET states/{id}/`: triage states are invisible (`states_get_triage_seeded`).
pub(crate) fn read(call: &Call<'_>, world: &World) -> Answer {
    let state = found(call, world)?;
    if state.hidden() || !world.readable(state.project) {
        return Err(Reply::not_found());
    }
    Ok(Reply::ok(call.write(&call.shape(), world, state, render)))
}

struct Fields {
    name: SentValue<String>,
    description: SentValue<String>,
    color: SentValue<String>,
    group: SentValue<&'static str>,
    sequence: SentValue<f64>,
    is_triage: SentValue<bool>,
    default: SentValue<bool>,
    external: SentExternal,
}

fn fields(mut form: Form<'_>) -> Result<Fields, Reply> {
    let fields = Fields {
        name: form.text("name", Text::REQUIRED),
        description: form.text("description", Text::BLANK.long()),
        color: form.text("color", Text::REQUIRED),
        sequence: form.float("sequence"),
        group: form.choice("group", &GROUPS),
        is_triage: form.flag("is_triage"),
        default: form.flag("default"),
        external: SentExternal::read(&mut form),
    };
    form.finish()?;
    Ok(fields)
}

fn no_triage(fields: &Fields) -> Result<(), Reply> {
    if fields.group == SentValue::Is("triage") {
        return Err(Reply::non_field("Cannot create triage state"));
    }
    Ok(())
}

fn apply(fields: Fields, state: &mut State) -> Result<(), Reply> {
    fields.name.store(&mut state.name);
    fields.description.store(&mut state.description);
    fields.color.store(&mut state.color);
    fields.is_triage.store(&mut state.is_triage);
    fields.default.store(&mut state.default);
    fields.external.store(&mut state.external);
    if let SentValue::Is(group) = fields.group {
        group.clone_into(&mut state.group);
    }
    state.slug = slug(&state.name);
    if state.slug.len() > LONGEST_SLUG { Err(Reply::crash()) } else { Ok(()) }
}

/// `POST states/`: returns 200 and ignores `sequence`.
pub(crate) fn create(call: &Call<'_>, world: &mut World) -> Answer {
    let body = call.body()?;
    let fields = fields(Form::create(&body)?)?;
    let project = call.place.project;
    // A new default clears the other defaults before anything else can be rejected
    // (`states_list_defaults_after_failed_create`).
    if fields.default == SentValue::Is(true) {
        world.states.change_of(project, |state| state.default = false);
    }
    no_triage(&fields)?;
    // v1 looks for holders of pairs and names among the states outside of the group `triage`.
    let holders = || world.states.of(project).filter(|state| state.group != "triage");
    if let Some(holder) = pair_holder(&body, holders().map(|s| (s.id, &s.external))) {
        return Err(Reply::external_taken("State", holder));
    }
    let workspace = world.projects.get(project).ok_or_else(Reply::not_found)?.workspace;
    let last =
        world.states.of(project).filter(|state| !state.hidden()).map(|state| state.sequence).reduce(f64::max);
    let stamp = Stamp::new(call.user, call.now());
    let mut state = blank(Uuid::new_v4(), project, workspace, stamp);
    if let Some(last) = last {
        state.sequence = last + 15_000.0;
    }
    apply(fields, &mut state)?;
    // The database also counts the hidden state (`intake_create` shows it).
    if world.states.of(project).any(|s| s.name == state.name) {
        return Err(name_taken("State", &body, holders().map(|s| (s.id, s.name.as_str()))));
    }
    let answer = call.write(&FULL, world, &state, render);
    world.states.add(state);
    Ok(Reply::ok(answer))
}

/// `PATCH states/{id}/`: also finds hidden states (`states_patch_after_is_triage`). A new
/// default does not clear the old one (`states_list_two_defaults`).
pub(crate) fn update(call: &Call<'_>, world: &mut World) -> Answer {
    let current = found(call, world)?.clone();
    let body = call.body()?;
    let fields = fields(Form::update(&body)?)?;
    no_triage(&fields)?;
    let others = world.states.of(current.project).filter(|s| s.id != current.id).map(|s| (s.id, &s.external));
    if pair_taken(&body, &current.external, others) {
        // The answer has the id of the state being changed (`states_patch_external_duplicate`).
        return Err(Reply::external_taken("State", current.id));
    }
    let mut state = current;
    let sequence = fields.sequence.clone();
    apply(fields, &mut state)?;
    sequence.store(&mut state.sequence);
    state.stamp.change(call.user, call.now());
    // A name conflict is a violated constraint, not a 409 (`states_patch_duplicate_name`).
    if world.states.of(state.project).any(|s| s.id != state.id && s.name == state.name) {
        return Err(Reply::bad_payload());
    }
    let answer = call.write(&FULL, world, &state, render);
    world.states.put(state);
    Ok(Reply::ok(answer))
}

/// `DELETE states/{id}/`: not for the default state and not for a state with work items. Archived items count,
/// deleted items do not (`states_delete_with_archived_items_only`).
pub(crate) fn delete(call: &Call<'_>, world: &mut World) -> Answer {
    let state = found(call, world)?;
    if state.hidden() {
        return Err(Reply::not_found());
    }
    if state.default {
        return Err(Reply::error(400, "Default state cannot be deleted"));
    }
    let id = state.id;
    if world.items.of(state.project).any(|item| item.state == id) {
        return Err(Reply::error(400, "The state is not empty, only empty states can be deleted"));
    }
    let now = call.now();
    world.states.change(id, |state| state.deleted_at = Some(now));
    Ok(Reply::no_content())
}

//! Workflow rules: the states in which an item may be created, and the allowed moves between states (O44).
//!
//! v1 has no such rules, so the rules of the settings are checked before anything is written. Rules name states by name
//! or id; a move to the same state is no change. May use: what `run` may use.

use crate::plan::Known;
use crate::refusal::Refusal;
use crate::run::job::InProject;
use crate::run::kept::collection::Collection;
use crate::settings::ProjectWorkflow;
use crate::translate::Held;
use crate::v2::value::small_letters;
use serde_json::Value;
use std::sync::Arc;
use uuid::Uuid;

/// Checks whether the project has rules about moves: then the previous state must be known exactly.
pub(in crate::run) fn guards_moves(job: &InProject<'_>) -> bool {
    rules(job).is_some_and(|rules| rules.moves.is_some())
}

/// Checks a create in the state `wanted`, or in the default one.
pub(in crate::run) async fn check_create(job: &InProject<'_>, wanted: Option<Uuid>) -> Result<(), Refusal> {
    let Some(initial) = rules(job).and_then(|rules| rules.initial.as_ref()) else { return Ok(()) };
    let all = states_of(job).await?;
    let state = match wanted {
        Some(id) => all.get(id),
        None => default_state(&all),
    };
    if initial.iter().any(|allowed| state.is_some_and(|state| is(state, allowed))) {
        return Ok(());
    }
    let name = state.map(|state| name_of(state)).unwrap_or_default();
    Err(Refusal::WorkflowDenied {
        detail: format!("Work items of this project may not be created in “{name}”.")
    })
}

pub(in crate::run) async fn check_move(job: &InProject<'_>, from: Uuid, to: Uuid) -> Result<(), Refusal> {
    let Some(moves) = rules(job).and_then(|rules| rules.moves.as_ref()).filter(|_| from != to) else {
        return Ok(());
    };
    let all = states_of(job).await?;
    let (before, after) = (all.get(from), all.get(to));
    let fits = |state: Option<&Arc<Held>>, wanted: &str| state.is_some_and(|state| is(state, wanted));
    if moves.iter().any(|allowed| fits(before, &allowed.from) && fits(after, &allowed.to)) {
        return Ok(());
    }
    let name = |state: Option<&Arc<Held>>| state.map(|state| name_of(state)).unwrap_or_default();
    let detail = format!("The move from “{}” to “{}” is not allowed in this project.", name(before), name(after));
    Err(Refusal::WorkflowDenied { detail })
}

fn rules<'j>(job: &'j InProject<'_>) -> Option<&'j ProjectWorkflow> {
    job.runner.settings.workflow.of(job.card.id)
}

async fn states_of(job: &InProject<'_>) -> Result<Arc<Collection>, Refusal> {
    let states = job.resource_named(Known::States)?;
    Ok(job.load(states).await?.value)
}

/// Returns the state that v1 uses when none is sent: the first default in its order, else the first (trap 23,
/// `states_create_item_without_default`).
fn default_state(all: &Collection) -> Option<&Arc<Held>> {
    let is_default = |held: &&Arc<Held>| held.v1_members().get("default") == Some(&Value::Bool(true));
    all.rows().iter().find(is_default).or_else(|| all.rows().first())
}

fn is(state: &Held, wanted: &str) -> bool {
    state.record.id.to_string().eq_ignore_ascii_case(wanted)
        || small_letters(&name_of(state)) == small_letters(wanted)
}

fn name_of(state: &Held) -> String {
    state.v1_members().get("name").and_then(Value::as_str).unwrap_or_default().to_owned()
}

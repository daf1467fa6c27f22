//! The rules that mappings declare about one record and its place: what must be there, what must be switched on, who may,
//! and names that occur once. The plain steps and the named functions hold them with the same code.
//!
//! May use: what `run` may use.

use super::collection::Collection;
use super::job::Job;
use super::shelf::Write;
use crate::access::Role;
use crate::plan::{Feature, May, OnCreate, OneOfAll, Required, Resource};
use crate::refusal::Refusal;
use crate::translate::Held;
use crate::v2::body::Given;
use serde_json::Value;
use uuid::Uuid;

impl Job {
    /// Looks whether the record is there that the resource requires. v1 does not: it lists, shows and takes comments of
    /// deleted and foreign work items (trap 36, `comments_list_random_item`, `comments_create_on_deleted_item`).
    pub(super) async fn hold_required(&self) -> Result<(), Refusal> {
        let Some(required @ Required::WorkItem) = self.resource().requires else { return Ok(()) };
        let (_, name) = required.place();
        let id = self.variable(name).and_then(|id| Uuid::try_parse(id).ok()).ok_or_else(Refusal::not_found)?;
        let within = self.in_project().ok_or_else(Refusal::not_found)?;
        Box::pin(within.live_item(id)).await.map(drop)
    }
}

/// Looks whether the feature is switched on that the operation needs.
pub(super) fn feature_is_on(job: &Job) -> Result<(), Refusal> {
    let Some(feature) = job.operation().needs_feature else { return Ok(()) };
    let on = job.call.card().is_some_and(|card| match feature {
        Feature::Cycles => card.cycle_view,
        Feature::Modules => card.module_view,
    });
    let detail = || format!("{} are switched off in this project.", feature.title());
    if on { Ok(()) } else { Err(Refusal::Conflict { detail: detail() }) }
}

/// Refuses a write to a record that only others may write to. v1 lets anyone in the project edit and delete a comment
/// (trap 35, `comments_patch_of_others_by_guest_accepted`, `comments_delete_of_others_by_guest_accepted`; O43).
pub(super) fn may_write(job: &Job, stored: &Held) -> Result<(), Refusal> {
    let Some(May::AuthorOrAdmin { author, detail }) = &job.operation().may else { return Ok(()) };
    let admin = job.call.card().and_then(|card| card.role).is_some_and(|role| role >= Role::ADMIN);
    let wrote = value_of(job.resource(), *author, stored);
    let wrote = wrote.as_ref().and_then(Value::as_str).and_then(|id| Uuid::try_parse(id).ok());
    if admin || wrote == Some(job.call.caller.user.id) {
        return Ok(());
    }
    Err(Refusal::Forbidden { detail: detail.clone() })
}

/// Whether a body names what must be unique among the records of the collection.
pub(super) fn names_unique(resource: &Resource, given: &Given) -> bool {
    resource.unique.as_ref().is_some_and(|rule| given.contains_key(&resource.fields[rule.field].name))
}

/// Refuses a name that another record of the collection has, for names that v1 does not guard (trap 5,
/// `cycles_create_duplicate_name_accepted`). They are compared exactly, after trimming (O55).
pub(super) fn is_unique(
    resource: &Resource,
    all: &Collection,
    given: &Given,
    own: Option<Uuid>,
) -> Result<(), Refusal> {
    let Some(OneOfAll { field, detail }) = &resource.unique else { return Ok(()) };
    let Some(name) = given.get(&resource.fields[*field].name).and_then(Value::as_str) else { return Ok(()) };
    let mut others = all.rows().iter().filter(|held| Some(held.record.id) != own);
    let has = |held: &Held| {
        value_of(resource, *field, held).and_then(|taken| Some(taken.as_str()?.trim() == name)).unwrap_or(false)
    };
    if others.any(|held| has(held)) { Err(Refusal::Conflict { detail: detail.clone() }) } else { Ok(()) }
}

/// What a create is held against the other records for: a name that occurs once, and members that count for the first
/// record only (O59).
pub(super) async fn against_others(
    job: &Job,
    write: &mut Write<'_, Collection>,
    given: &mut Given,
) -> Result<(), Refusal> {
    let resource = job.resource();
    let counts_first =
        |name: &String| resource.field(name).is_some_and(|field| field.on_create == OnCreate::IfFirst);
    let first: Vec<String> = given.keys().filter(|name| counts_first(name)).cloned().collect();
    if first.is_empty() && !names_unique(resource, given) {
        return Ok(());
    }
    let all = job.load(resource).await?;
    write.found(&all);
    is_unique(resource, &all.value, given, None)?;
    if !all.value.rows().is_empty() {
        given.retain(|name, _| !first.contains(name));
    }
    Ok(())
}

/// What v1 shows of a field.
pub(super) fn value_of(resource: &Resource, field: usize, held: &Held) -> Option<Value> {
    held.v1_members().shift_remove(resource.fields[field].v1.as_deref()?)
}

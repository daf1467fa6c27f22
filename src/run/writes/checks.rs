//! Checks of a write against other records, before anything is sent.
//!
//! v1 silently drops or stores foreign ids (traps 15, 29, 30), and compares dates only within one body (trap 28,
//! `items_patch_dates_start_after_stored_target_accepted`). So the gateway checks against the data that v1 shows. May
//! use: what `run` may use.

use crate::plan::{BodyRule, Input, Known, Resource};
use crate::refusal::{FieldErrors, Refusal};
use crate::run::job::Job;
use crate::run::kept::collection::Collection;
use crate::run::members::as_id;
use crate::run::reads::list;
use crate::translate::Held;
use crate::v2::body::Given;
use crate::v2::time;
use serde_json::{Map, Value};
use uuid::Uuid;

/// Checks that members which must name a record of the same project do so.
pub(in crate::run) async fn references(job: &Job, given: &Given, own: Option<Uuid>) -> Result<(), Refusal> {
    let BodyRule::Members(inputs) = &job.operation().body else { return Ok(()) };
    let mut errors = FieldErrors::default();
    for input in inputs {
        let Some(target) = &input.spec.references else { continue };
        let Some(id) = given.get(&input.name).and_then(as_id) else { continue };
        if let Some(message) = reference(job, input, target, id, own).await? {
            errors.add(&input.name, message);
        }
    }
    errors.or(())
}

async fn reference(
    job: &Job,
    input: &Input,
    target: &str,
    id: Uuid,
    own: Option<Uuid>,
) -> Result<Option<String>, Refusal> {
    let resource = job.runner.plan.resource(target).ok_or_else(|| Refusal::internal("an unknown reference"))?;
    if resource.is(Known::ProjectMembers) {
        let member = job.is_on_project_roster(id).await?;
        return Ok((!member).then(|| "is not a member of this project".to_owned()));
    }
    let Some(found) = list::find(job, resource, id).await? else {
        return Ok(Some(format!("names no record of {} in this project", target.replace('_', " "))));
    };
    let Some(own) = own.filter(|_| input.spec.acyclic) else { return Ok(None) };
    let all = job.load(resource).await?;
    let loops = leads_back(resource, &input.name, &all.value, &found, own);
    Ok(loops.then(|| "leads back to the record itself".to_owned()))
}

/// Checks whether following `field` upwards from `start` reaches `own`; v1 allows both self-references and loops
/// (trap 30, `labels_patch_parent_self_accepted`, `labels_patch_parent_cycle_1`).
fn leads_back(resource: &Resource, field: &str, all: &Collection, start: &Held, own: Uuid) -> bool {
    let Some(key) = resource.field(field).and_then(|field| field.spec.v1.as_deref()) else { return false };
    let mut at = Some(start.record.id);
    for _ in 0..=all.rows().len() {
        match at {
            Some(id) if id == own => return true,
            Some(id) => at = all.get(id).and_then(|held| as_id(held.v1_members().get(key)?)),
            None => return false,
        }
    }
    false
}

/// Checks that dates are in order; when only one date is sent, it is compared with the stored other one (O28).
pub(in crate::run) fn order_of_dates(
    resource: &Resource,
    given: &Given,
    stored: Option<&Map<String, Value>>,
) -> Result<(), Refusal> {
    let mut errors = FieldErrors::default();
    for field in &resource.fields {
        let Some(earlier) = field.spec.not_before.as_deref() else { continue };
        if !given.contains_key(&field.name) && !given.contains_key(earlier) {
            continue;
        }
        let value =
            |name: &str| given.get(name).or_else(|| stored?.get(name)).and_then(Value::as_str).map(str::to_owned);
        let (Some(end), Some(start)) = (value(&field.name), value(earlier)) else { continue };
        if is_before(&end, &start) {
            errors.add(&field.name, format!("must not be before {earlier}"));
        }
    }
    errors.or(())
}

/// Checks whether only one of two ordered dates is sent, so that the stored date is needed too.
pub(in crate::run) fn needs_stored_dates(resource: &Resource, given: &Given) -> bool {
    resource.fields.iter().any(|field| {
        let earlier = field.spec.not_before.as_ref();
        earlier.is_some_and(|earlier| given.contains_key(&field.name) != given.contains_key(earlier))
    })
}

fn is_before(end: &str, start: &str) -> bool {
    match (time::read_instant(end), time::read_instant(start)) {
        (Some(end), Some(start)) => end < start,
        _ => end < start,
    }
}

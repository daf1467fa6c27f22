//! The rules that mappings declare for one record and its place: required records, switched-on features, permissions,
//! and unique names. The plain steps and the named functions check these rules with the same code.
//!
//! May use: what `run` may use.

use super::job::Job;
use super::kept::collection::Collection;
use super::kept::shelf::Write;
use super::members::{as_id, created_at};
use crate::access::{ProvenAccess, Role, WorkspaceRole, gate};
use crate::plan::{CollectionRule, Feature, Field, May, OnCreate, Required, Resource};
use crate::refusal::Refusal;
use crate::store::OverlayValue;
use crate::translate::Held;
use crate::v2::body::Given;
use crate::v2::value::trimmed;
use serde_json::Value;
use std::time::Duration;
use uuid::Uuid;

/// Longest wait for the second proof of a slow read.
const SECOND_PROOF: Duration = Duration::from_secs(2);
/// Distance between a new record and the first one, when the new one is put in front as v1 does it
/// (`modules_create_second`).
const BEFORE: f64 = 10_000.0;

impl Job {
    /// Checks whether the record exists that the resource requires. v1 does not check this: it lists, shows and accepts
    /// comments of deleted and foreign work items (trap 36, `comments_list_random_item`,
    /// `comments_create_on_deleted_item`).
    pub(super) async fn check_required_record(&self) -> Result<(), Refusal> {
        if self.resource().requires.is_none() {
            return Ok(());
        }
        let id = self.required_item().ok_or_else(Refusal::not_found)?;
        let within = self.in_project().ok_or_else(Refusal::not_found)?;
        Box::pin(within.live_item(id)).await.map(drop)
    }

    /// Returns the id of the required work item; none where the resource requires none.
    pub(super) fn required_item(&self) -> Option<Uuid> {
        let required @ Required::WorkItem = self.resource().requires?;
        self.variable(required.place().1).and_then(|id| Uuid::try_parse(id).ok())
    }

    /// Checks whether the caller is an admin of the project or of the workspace (O13).
    pub(super) async fn is_by_admin(&self) -> Result<bool, Refusal> {
        if let Some(card) = self.call.card()
            && card.require_member()? >= Role::ADMIN
        {
            return Ok(true);
        }
        let card = self.runner.access.workspace(&self.call.caller, self.slug(), &self.call.ctx).await?;
        Ok(card.role == WorkspaceRole::Admin)
    }

    /// Refuses a write of definitions by a caller who is not an admin; every caller who sees the place may read (O13).
    pub async fn check_role(&self) -> Result<(), Refusal> {
        let judged = self.is_own() && self.operation().method.writes();
        if !judged || self.is_by_admin().await? {
            return Ok(());
        }
        let who = if self.call.card().is_some() { "the project or the workspace" } else { "the workspace" };
        Err(Refusal::Forbidden { detail: format!("Only admins of {who} may do this.") })
    }

    /// Checks the caller's permission again, before a stored or found answer is given: the request may have waited for
    /// its body, for v1 or for the store.
    ///
    /// # Errors
    /// The same errors as for any request whose caller lacks the permission.
    pub async fn check_permission_again(&mut self) -> Result<(), Refusal> {
        self.check_credential_again().await?;
        if let Some(less) = Box::pin(self.prove_again()).await? {
            self.call.standing = less;
        }
        Box::pin(self.check_role()).await
    }

    /// Repeats the proof of a slow read, because its data may have been read with another caller's key. A recent proof
    /// is still valid and costs nothing. When v1 does not answer in time, the first proof stands. Returns the new
    /// standing if the caller may see less now.
    ///
    /// # Errors
    /// When the caller has lost access to the place, or the key is invalid.
    pub(super) async fn prove_again(&self) -> Result<Option<ProvenAccess>, Refusal> {
        let (call, access) = (&self.call, &self.runner.access);
        let proof = gate::check_visible(access, self.operation(), &call.caller, &call.variables, &call.ctx);
        match tokio::time::timeout(SECOND_PROOF, proof).await {
            Ok(Err(refusal)) if matches!(refusal.status(), 401 | 403 | 404) => Err(refusal),
            Ok(Ok(standing)) => Ok(Some(standing).filter(|now| now.sees_less_than(&call.standing))),
            _ => Ok(None),
        }
    }
}

/// Checks that a record belongs to the place that the `variables` of its path name, if the record shows its place.
pub(super) fn check_place(resource: &Resource, variables: &[(String, String)], held: &Held) -> Result<(), Refusal> {
    let is_shown = |name: &str| resource.field(name).is_some_and(|field| field.spec.v1.is_some());
    let mut named = variables.iter().filter(|(name, _)| is_shown(name)).peekable();
    if named.peek().is_none() {
        return Ok(());
    }
    let shown = held.v2_members();
    match named.all(|(name, value)| shown.get(name).and_then(Value::as_str) == Some(value)) {
        true => Ok(()),
        false => Err(Refusal::upstream(
            "The service behind answered with a record of another place.",
            "a record of another place",
        )),
    }
}

/// Checks that the feature that the operation needs is switched on.
pub(super) fn check_feature(job: &Job) -> Result<(), Refusal> {
    let Some(feature) = job.operation().needs_feature else { return Ok(()) };
    let on = job.call.card().is_some_and(|card| match feature {
        Feature::Cycles => card.cycle_view,
        Feature::Modules => card.module_view,
    });
    let detail = || format!("{} are switched off in this project.", feature.title());
    if on { Ok(()) } else { Err(Refusal::Conflict { detail: detail() }) }
}

/// Refuses a write to a record that only other people may write to. v1 lets all project members edit and delete
/// comments (trap 35, `comments_patch_of_others_by_guest_accepted`, `comments_delete_of_others_by_guest_accepted`;
/// O43).
pub(super) async fn check_may_write(job: &Job, stored: &Held) -> Result<(), Refusal> {
    let Some(May { author, detail }) = &job.operation().may else { return Ok(()) };
    let wrote = value_of(job.resource(), *author, stored).as_ref().and_then(as_id);
    if wrote == Some(job.call.caller.user.id) || Box::pin(job.is_by_admin()).await? {
        return Ok(());
    }
    Err(Refusal::Forbidden { detail: detail.clone() })
}

/// Checks whether a body sets the member that must be unique in the collection.
pub(super) fn names_unique(resource: &Resource, given: &Given) -> bool {
    resource.unique.as_ref().is_some_and(|rule| given.contains_key(&resource.fields[rule.field].name))
}

/// Refuses a name that another record of the collection has, where v1 allows duplicates (trap 5,
/// `cycles_create_duplicate_name_accepted`). Names are compared exactly, after trimming (O55). A record that shares
/// its name at v1 may be sent it again.
pub(super) fn check_unique(
    resource: &Resource,
    all: &Collection,
    given: &Given,
    own: Option<Uuid>,
) -> Result<(), Refusal> {
    let Some(CollectionRule { field, detail }) = &resource.unique else { return Ok(()) };
    let Some(name) = given.get(&resource.fields[*field].name).and_then(Value::as_str) else { return Ok(()) };
    let has = |held: &Held| {
        value_of(resource, *field, held).and_then(|taken| Some(trimmed(taken.as_str()?) == name)).unwrap_or(false)
    };
    let holders = all.rows().iter().filter(|held| has(held));
    let holders: Vec<Option<Uuid>> = holders.map(|held| Some(held.record.id)).collect();
    match holders.is_empty() || holders.contains(&own) {
        true => Ok(()),
        false => Err(Refusal::Conflict { detail: detail.clone() }),
    }
}

/// Checks a create against the other records: names that must be unique, and members that are used for the first record
/// only (O59). A record that an earlier attempt at this create has made is the new one, and not one of the others.
pub(super) async fn against_others(
    job: &Job,
    write: &mut Write<'_, Collection>,
    given: &mut Given,
) -> Result<(), Refusal> {
    let resource = job.resource();
    let counts_first = |field: &&Field| field.spec.on_create == OnCreate::IfFirst;
    let firsts: Vec<&Field> = resource.fields.iter().filter(counts_first).collect();
    let sent = firsts.iter().any(|field| given.contains_key(&field.name));
    if !sent && !names_unique(resource, given) && !any_was_moved(job, &firsts).await? {
        return Ok(());
    }
    let all = job.load(resource).await?;
    write.found(&all);
    check_unique(resource, &all.value, given, job.half_made)?;
    let older = job.half_made.map(|own| older_than(&all.value, own));
    let others = older.as_ref().unwrap_or(&all.value);
    if !others.rows().is_empty() {
        for field in firsts {
            given.shift_remove(&field.name);
            given.extend(in_front(field, others).map(|place| (field.name.clone(), place.into())));
        }
    }
    Ok(())
}

/// Returns the records that were made before the record `own`; all of them when it is not in the list.
fn older_than(all: &Collection, own: Uuid) -> Collection {
    let made = |held: &Held| created_at(&held.v1_members());
    let until = all.get(own).map(|held| made(held));
    let older = all.rows().iter().filter(|held| until.is_none_or(|until| made(held) < until));
    Collection::new(older.cloned().collect())
}

/// Checks whether a record of this kind in the workspace has a stored place of its own, which v1 does not know.
async fn any_was_moved(job: &Job, firsts: &[&Field]) -> Result<bool, Refusal> {
    if firsts.is_empty() {
        return Ok(false);
    }
    let kept = job.runner.store.overlay_of(job.workspace_id().await?, &job.resource().name).await?;
    let is_place = |value: &OverlayValue| firsts.iter().any(|field| field.name == value.field);
    Ok(kept.values().flatten().any(is_place))
}

/// Returns the place in front of all records, if v1 would not put a new record there itself: v1 counts from the first
/// of the places that it knows.
fn in_front(field: &Field, all: &Collection) -> Option<f64> {
    let name = field.spec.v1.as_deref()?;
    let places = all.rows().iter().filter_map(|held| {
        let (shown, v1) = (held.v2_members(), held.v1_members());
        shown.get(&field.name)?.as_f64().zip(v1.get(name)?.as_f64())
    });
    let least = |(shown, v1): (f64, f64), (other, known)| (shown.min(other), v1.min(known));
    let (shown, v1) = places.fold((f64::INFINITY, f64::INFINITY), least);
    (v1 - BEFORE >= shown).then_some(shown - BEFORE)
}

pub(super) fn value_of(resource: &Resource, field: usize, held: &Held) -> Option<Value> {
    held.v1_members().shift_remove(resource.fields[field].spec.v1.as_deref()?)
}

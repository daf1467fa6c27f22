//! Creates and updates in collections where only one record has a flag, such as the default state of a project.
//!
//! v1 handles the flag badly (trap 23): `true` in a create clears it everywhere, even if the create is refused
//! (`states_list_defaults_after_failed_create`); `true` in an update clears nothing (`states_list_two_defaults`). So
//! the flag is never part of a create, and the order is: set it on the new record, then clear it on all others. So
//! there is always a record with the flag.
//!
//! May use: what `run` may use.

use super::write::{created_but, partly_done};
use super::{checks, create, update};
use crate::plan::{CollectionRule, Extra, Resource};
use crate::refusal::Refusal;
use crate::run::job::Job;
use crate::run::kept::collection::Collection;
use crate::run::kept::shelf::Write;
use crate::run::members::id_of;
use crate::run::reads::flagged::{flag, has, is_shown};
use crate::translate::{Held, confirm, outgoing};
use crate::v2::Reply;
use crate::v2::body::Given;
use serde_json::Value;
use std::time::Instant;
use uuid::Uuid;

/// Records that a create writes when it moves the flag: the new one and the old ones; v1 may have it on two.
const FLAGGED: usize = 3;

/// Creates a record, and sets the flag on it afterwards if the body asks for it.
pub(in crate::run) async fn create(job: &Job, rule: &CollectionRule) -> Result<Reply, Refusal> {
    let (mut write, mut given) = create::begin(job).await?;
    let resource = job.resource();
    if take_flag(resource, rule, &mut given) != Some(true) {
        return create::create_given(job, write, given).await;
    }
    let mut outgoing = outgoing::create(resource, &given);
    let again = create::repeats(resource, &outgoing.body);
    let _room = job.room_for(&[(Extra::Default, FLAGGED), (Extra::RefusedValue, again)], 0).await?;
    let id = id_of(&create::post(job, &mut outgoing, create::keep_refused).await?)?;
    let failed = created_but(id);
    let mut promotion = outgoing.after_create.clone();
    promotion.extend(flag(resource, rule, true));
    job.patch(id, &promotion).await.map_err(&failed)?;
    // The list as of now shows every record that still has the flag, whoever set it.
    let all = job.load_since(resource, Instant::now()).await.map_err(&failed)?;
    write.found(&all);
    let v1 = all.value.get(id).ok_or_else(|| failed(Refusal::not_found()))?.v1_members();
    let cleared = clear(job, rule, &others(resource, rule, &write, id)).await.map_err(&failed)?;
    confirm::check(resource, &outgoing.body, &v1).confirm(resource).map_err(&failed)?;
    job.keep(id, &outgoing, &v1).await.map_err(&failed)?;
    write.carry(|before| before.with(&cleared));
    create::finish(job, write, &v1).await.map_err(failed)
}

/// Updates a record. Setting the flag clears it on the others; it cannot be cleared without being set on another
/// record.
pub(in crate::run) async fn update(job: &Job, rule: &CollectionRule) -> Result<Reply, Refusal> {
    let (write, stored, mut given) = update::begin_valid(job).await?;
    let resource = job.resource();
    let flag = take_flag(resource, rule, &mut given);
    if flag == Some(false) && is_shown(resource, rule, &stored) {
        return Err(Refusal::field(&resource.fields[rule.field].name, rule.detail.as_str()));
    }
    if flag == Some(false) && has(resource, rule, &stored) {
        // A second flag of v1, which v2 does not show, would make v1 refuse the delete of this record.
        given.insert(resource.fields[rule.field].name.to_string(), Value::Bool(false));
    }
    if flag == Some(true) {
        // v1 can have the flag on two records (`states_list_two_defaults`); setting it on one leaves only that one.
        let others = others(resource, rule, &write, stored.record.id);
        if !has(resource, rule, &stored) || !others.is_empty() {
            checks::order_of_dates(resource, &given, Some(&stored.v2_members()))?;
            return promote(job, write, &stored, given, rule, &others).await;
        }
    }
    update::update_given(job, write, &stored, &given).await
}

async fn promote(
    job: &Job,
    mut write: Write<'_, Collection>,
    stored: &Held,
    given: Given,
    rule: &CollectionRule,
    others: &[Uuid],
) -> Result<Reply, Refusal> {
    let (resource, id) = (job.resource(), stored.record.id);
    let mut outgoing = outgoing::update(resource, &given);
    outgoing.body.extend(flag(resource, rule, true));
    let again = create::repeats(resource, &outgoing.body);
    let _room = job.room_for(&[(Extra::Default, others.len()), (Extra::RefusedValue, again)], 0).await?;
    let answer = update::patch(job, id, &mut outgoing, create::keep_refused).await?;
    let v1 = job.merge_or_reread(id, &stored.v1_members(), &outgoing.body, &answer).await?;
    job.keep(id, &outgoing, &v1).await?;
    let name = &resource.fields[rule.field].name;
    let half_done = partly_done(
        format!("The record was updated, but another one still has {name}:"),
        format!("The record was updated, but another one may still have {name}:"),
    );
    let cleared = clear(job, rule, others).await.map_err(half_done)?;
    write.carry(|before| before.with(&cleared));
    create::finish(job, write, &v1).await
}

fn take_flag(resource: &Resource, rule: &CollectionRule, given: &mut Given) -> Option<bool> {
    given.shift_remove(&resource.fields[rule.field].name)?.as_bool()
}

/// Returns the ids of the other records that have the flag, by the list already read.
fn others(resource: &Resource, rule: &CollectionRule, write: &Write<'_, Collection>, id: Uuid) -> Vec<Uuid> {
    let Some(all) = write.before() else { return Vec::new() };
    let flagged = all.value.rows().iter().filter(|held| has(resource, rule, held));
    flagged.map(|held| held.record.id).filter(|other| *other != id).collect()
}

/// Clears the flag on `ids`; returns the records afterwards.
pub(super) async fn clear(job: &Job, rule: &CollectionRule, ids: &[Uuid]) -> Result<Vec<Held>, Refusal> {
    let resource = job.resource();
    let mut cleared = Vec::with_capacity(ids.len());
    for id in ids {
        let answer = job.patch(*id, &flag(resource, rule, false)).await?;
        cleared.push(job.translate_written(&answer).await?);
    }
    Ok(cleared)
}

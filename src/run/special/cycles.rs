//! Creates and updates cycles. May use: what `run` may use.

use crate::plan::Extra;
use crate::refusal::Refusal;
use crate::run::job::InProject;
use crate::run::members::{Members, id_of};
use crate::run::rules;
use crate::run::writes::write::{created_but, partly_done};
use crate::run::writes::{self, checks};
use crate::translate::{confirm, cycles, outgoing};
use crate::v2::Reply;
use serde_json::Value;
use uuid::Uuid;

/// Creates a cycle.
///
/// v1 does not guard names (trap 5, `cycles_create_duplicate_name_accepted`), wants the project id in the
/// body (trap 24) and loses the time of day of dates sent together (trap 25). So: a fresh list for the name,
/// the create without dates, each date in a PATCH of its own, and the record read back. When v1 refuses a date then,
/// the new cycle is deleted again.
pub(super) async fn create(job: &InProject<'_>) -> Result<Reply, Refusal> {
    let mut given = job.given()?;
    cycles::settle_dates(&mut given, None)?;
    checks::order_of_dates(job.resource(), &given, None)?;
    rules::feature_is_on(job)?;
    let resource = job.resource();
    let mut write = job.begin_write().await?;
    rules::against_others(job, &mut write, &mut given).await?;

    let mut outgoing = outgoing::create(resource, &given);
    let dates = cycles::take_dates(&mut outgoing.body);
    outgoing.body.insert("project_id".to_owned(), job.card.id.to_string().into());
    let again = writes::create::repeats(resource, &outgoing.body);
    let _room = job.room_for(&[(Extra::Date, dates.len()), (Extra::RefusedValue, again)], 0).await?;
    let answer = writes::create::post(job, resource, &mut outgoing, writes::create::keep_refused).await?;
    let id = id_of(&answer)?;
    let failed = created_but(id);
    for mut date in dates {
        if date.values().all(Value::is_null) {
            continue;
        }
        cycles::carry(&mut date, &answer);
        if let Err(refusal) = job.patch(resource, id, &date).await {
            return Err(take_back(job, id, refusal).await);
        }
    }
    let v1 = job.read_record(resource, id).await.map_err(&failed)?;
    confirm::check(resource, &outgoing.body, &v1).confirm(resource).map_err(&failed)?;
    job.keep(resource, id, &outgoing, &v1).await.map_err(&failed)?;
    writes::create::finish(job, write, &v1).await.map_err(failed)
}

/// A date that v1 refuses only now is the client's to change, and nothing of the cycle stays behind.
async fn take_back(job: &InProject<'_>, id: Uuid, refusal: Refusal) -> Refusal {
    let refused = matches!(refusal, Refusal::Validation { .. });
    if refused && job.delete(job.resource(), id, true).await.is_ok() { refusal } else { created_but(id)(refusal) }
}

/// Updates a cycle.
///
/// A fresh list gives the names in use (trap 5), the stored dates (trap 28) and the owner and `sort_order`
/// every update must carry (traps 26, 27). When both dates change, `start_date` goes with everything else and
/// `end_date` in a write of its own, because together they lose their time of day (trap 25).
pub(super) async fn update(job: &InProject<'_>) -> Result<Reply, Refusal> {
    let resource = job.resource();
    let mut write = job.begin_write().await?;
    let stored = writes::update::refresh(job, &mut write, job.pk()?).await?;
    let id = stored.record.id;
    let mut given = job.given()?;
    let shown = stored.v2_members();
    cycles::settle_dates(&mut given, shown.get("timezone").and_then(Value::as_str))?;
    checks::order_of_dates(resource, &given, Some(&shown))?;
    if let Some(all) = write.before() {
        rules::is_unique(resource, &all.value, &given, Some(id))?;
    }
    let mut v1 = stored.v1_members();
    let mut outgoing = outgoing::update(resource, &given);
    let mut dates = cycles::take_dates(&mut outgoing.body);
    // One date alone is kept exactly, also beside other members.
    if let Some(first) = dates.first().cloned() {
        outgoing.body.extend(first);
        dates.remove(0);
    }
    let again = writes::create::repeats(resource, &outgoing.body);
    let _room = job.room_for(&[(Extra::Date, dates.len()), (Extra::RefusedValue, again)], 0).await?;
    if !outgoing.body.is_empty() {
        cycles::carry(&mut outgoing.body, &v1);
        let answer = writes::update::patch(job, resource, id, &mut outgoing, writes::create::keep_refused).await?;
        v1 = job.merge_or_reread(resource, id, &v1, &outgoing.body, &answer).await?;
    }
    for mut date in dates {
        cycles::carry(&mut date, &v1);
        let done = || "Everything but end_date was stored; end_date could not be written:".to_owned();
        let answer: Members = job.patch(resource, id, &date).await.map_err(partly_done(done()))?;
        v1 = job.merge_or_reread(resource, id, &v1, &date, &answer).await.map_err(partly_done(done()))?;
    }
    job.keep(resource, id, &outgoing, &v1).await?;
    writes::create::finish(job, write, &v1).await
}

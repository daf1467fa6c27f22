//! Creates a cycle.
//!
//! v1 does not check names (trap 5, `cycles_create_duplicate_name_accepted`), requires the project id in the
//! body (trap 24) and loses the time of day of dates sent together (trap 25). So the steps are: a fresh list for the
//! name, the create without dates, a PATCH for each date, and a read of the record. A v1 that reads from a replica of
//! its database may show the record before a date, so the answer to the last PATCH lies over it. When v1 refuses a
//! date, the new cycle is deleted again. May use: what `run` may use.

use crate::plan::Extra;
use crate::refusal::Refusal;
use crate::run::job::InProject;
use crate::run::members::{Members, id_of};
use crate::run::rules;
use crate::run::writes::write::created_but;
use crate::run::writes::{checks, create};
use crate::translate::{confirm, cycles, modules, outgoing};
use crate::v2::Reply;
use serde_json::Value;
use uuid::Uuid;

pub(super) async fn run(job: &InProject<'_>) -> Result<Reply, Refusal> {
    let mut given = job.given()?;
    cycles::settle_dates(&mut given, None)?;
    checks::order_of_dates(job.resource(), &given, None)?;
    rules::check_feature(job)?;
    let resource = job.resource();
    let mut write = job.begin_write().await?;
    rules::against_others(job, &mut write, &mut given).await?;

    let mut outgoing = outgoing::create(resource, &given);
    let dates = cycles::take_dates(&mut outgoing.body);
    let set = dates.iter().flatten().filter(|(_, date)| !date.is_null());
    outgoing.after_create = set.map(|(key, date)| (key.clone(), date.clone())).collect();
    outgoing.body.insert("project_id".to_owned(), job.card.id.to_string().into());
    let again = create::repeats(resource, &outgoing.body);
    let _room = job.room_for(&[(Extra::Date, dates.len()), (Extra::RefusedValue, again)], 0).await?;
    let answer = create::post(job, &mut outgoing, create::keep_refused).await?;
    let id = id_of(&answer)?;
    let failed = created_but(id);
    let mut dated = Members::new();
    for mut date in dates {
        if date.values().all(Value::is_null) {
            continue;
        }
        cycles::carry(&mut date, &answer);
        dated = match job.patch(id, &date).await {
            Ok(answer) => answer,
            Err(refusal) => return Err(take_back(job, id, refusal).await),
        };
    }
    let v1 = modules::merge(&job.read_created(id, "").await.map_err(&failed)?, &dated);
    confirm::check(resource, &outgoing.body, &v1).confirm(resource).map_err(&failed)?;
    job.keep(id, &outgoing, &v1).await.map_err(&failed)?;
    create::finish(job, write, &v1).await.map_err(failed)
}

/// Deletes the new cycle when v1 refuses one of its dates: the client can correct the date, and nothing is left behind.
async fn take_back(job: &InProject<'_>, id: Uuid, refusal: Refusal) -> Refusal {
    let refused = matches!(refusal, Refusal::Validation { .. });
    // A record that an earlier attempt has made was only found, so it is not deleted.
    let is_new = job.half_made.is_none();
    if refused && is_new && job.delete(id, true).await.is_ok() { refusal } else { created_but(id)(refusal) }
}

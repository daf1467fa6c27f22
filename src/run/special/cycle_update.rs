//! Updates a cycle.
//!
//! A fresh list gives the names in use (trap 5), the stored dates (trap 28), and the owner and `sort_order` that
//! every update must contain (traps 26, 27). When both dates change, `start_date` is sent with everything else and
//! `end_date` in a separate write, because together they lose their time of day (trap 25). May use: what `run` may
//! use.

use crate::plan::Extra;
use crate::refusal::Refusal;
use crate::run::job::InProject;
use crate::run::members::Members;
use crate::run::rules;
use crate::run::writes::write::partly_done;
use crate::run::writes::{checks, create, update};
use crate::translate::{cycles, outgoing};
use crate::v2::Reply;
use serde_json::Value;

pub(super) async fn run(job: &InProject<'_>) -> Result<Reply, Refusal> {
    let resource = job.resource();
    let mut write = job.begin_write().await?;
    let stored = update::refresh(job, &mut write, job.pk()?).await?;
    let id = stored.record.id;
    let mut given = job.given()?;
    let shown = stored.v2_members();
    cycles::settle_dates(&mut given, shown.get("timezone").and_then(Value::as_str))?;
    checks::order_of_dates(resource, &given, Some(&shown))?;
    if let Some(all) = write.before() {
        rules::check_unique(resource, &all.value, &given, Some(id))?;
    }
    let mut v1 = stored.v1_members();
    let mut outgoing = outgoing::update(resource, &given);
    let mut dates = cycles::take_dates(&mut outgoing.body);
    // A single date is stored exactly, also together with other members.
    if !dates.is_empty() {
        outgoing.body.extend(dates.remove(0));
    }
    let again = create::repeats(resource, &outgoing.body);
    let _room = job.room_for(&[(Extra::Date, dates.len()), (Extra::RefusedValue, again)], 0).await?;
    if !outgoing.body.is_empty() {
        cycles::carry(&mut outgoing.body, &v1);
        let answer = update::patch(job, id, &mut outgoing, create::keep_refused).await?;
        v1 = job.merge_or_reread(id, &v1, &outgoing.body, &answer).await?;
    }
    // Before the end date, which v1 may refuse: everything else stays.
    job.keep(id, &outgoing, &v1).await?;
    for mut date in dates {
        cycles::carry(&mut date, &v1);
        let half_done = partly_done(
            "Everything but end_date was stored; end_date could not be written:".to_owned(),
            "Everything but end_date was stored; it is not certain whether end_date was:".to_owned(),
        );
        let answer: Members = job.patch(id, &date).await.map_err(&half_done)?;
        v1 = job.merge_or_reread(id, &v1, &date, &answer).await.map_err(&half_done)?;
    }
    create::finish(job, write, &v1).await
}

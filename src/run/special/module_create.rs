//! Creates a module.
//!
//! A new module goes in front of those that exist, whatever `sort_order` was sent (O59); v1 does so by its own
//! numbers, so a value sent counts only in a project without modules, where the overlay keeps it (trap 22).

use crate::refusal::Refusal;
use crate::run::{Job, checks, create};
use crate::v2::Reply;

pub(super) async fn run(job: &Job) -> Result<Reply, Refusal> {
    let mut given = job.given()?;
    checks::order_of_dates(job.resource(), &given, None)?;
    if !job.card()?.module_view {
        return Err(Refusal::Conflict { detail: "Modules are switched off in this project.".into() });
    }
    checks::references(job, &given, None).await?;
    let mut write = job.begin_write().await?;
    if given.contains_key("sort_order") {
        let all = job.load(job.resource()).await?;
        write.found(&all);
        if !all.thing.rows().is_empty() {
            given.shift_remove("sort_order");
        }
    }
    create::create_given(job, write, given).await
}

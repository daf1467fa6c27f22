//! Posts a comment.
//!
//! The work item is checked first, because v1 accepts comments on deleted and foreign items (trap 36). v1 refuses a
//! pair that another comment of the project has, before anything is stored (trap 34). Then the comment is posted again
//! without the pair, and the overlay keeps it. The answer is read back (trap 20). May use: what
//! `run` may use.

use crate::plan::{Extra, Resource};
use crate::refusal::Refusal;
use crate::run::job::InProject;
use crate::run::members::id_of;
use crate::run::writes::create;
use crate::run::writes::write::created_but;
use crate::translate::outgoing::{self, Outgoing};
use crate::translate::{comments, confirm};
use crate::v1::V1Response;
use crate::v2::Reply;

pub(super) async fn run(job: &InProject<'_>) -> Result<Reply, Refusal> {
    job.check_required_record().await?;
    let given = job.given()?;
    let given = job.sanitising(job.body_size(), || comments::sanitise(given)).await??;
    let resource = job.resource();
    let write = job.begin_write().await?;
    let mut outgoing = outgoing::create(resource, &given);
    // A pair that v1 refuses requires a second POST.
    let _room = job.room_for(&[(Extra::RefusedValue, 1)], 0).await?;
    let id = id_of(&create::post(job, &mut outgoing, keep_pair).await?)?;
    let failed = created_but(id);
    let v1 = job.read_created(id, "").await.map_err(&failed)?;
    confirm::check(resource, &outgoing.body, &v1).confirm(resource).map_err(&failed)?;
    job.keep(id, &outgoing, &v1).await.map_err(&failed)?;
    create::finish(job, write, &v1).await.map_err(failed)
}

/// Moves a pair that v1 refuses into the overlay; returns whether it did.
pub(super) fn keep_pair(_: &Resource, outgoing: &mut Outgoing, answer: &V1Response) -> bool {
    let taken = comments::is_pair_taken(&outgoing.body, answer);
    if taken {
        comments::keep_pair(outgoing);
    }
    taken
}

//! Posts a comment.
//!
//! The work item is looked at first, because v1 takes comments on deleted and foreign items (trap 36). A pair
//! that another comment of the project has is refused by v1 before anything is stored (trap 34), so the
//! comment is posted again without it and the overlay keeps the pair. The answer is read back (trap 20). May use: what
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
    job.hold_required().await?;
    let given = job.given()?;
    let given = job.sanitising(job.body_size(), || comments::sanitise(given)).await??;
    let resource = job.resource();
    let write = job.begin_write().await?;
    let mut outgoing = outgoing::create(resource, &given);
    // A pair that v1 refuses makes it a second post.
    let _room = job.room_for(&[(Extra::RefusedValue, 1)], 0).await?;
    let id = id_of(&create::post(job, resource, &mut outgoing, keep_pair).await?)?;
    let failed = created_but(id);
    let v1 = job.read_record(resource, id).await.map_err(&failed)?;
    confirm::check(resource, &outgoing.body, &v1).confirm(resource).map_err(&failed)?;
    job.keep(resource, id, &outgoing, &v1).await.map_err(&failed)?;
    create::finish(job, write, &v1).await.map_err(failed)
}

/// Moves a pair that v1 refuses to the overlay; whether there is one.
pub(super) fn keep_pair(_: &Resource, outgoing: &mut Outgoing, answer: &V1Response) -> bool {
    let taken = comments::is_pair_taken(&outgoing.body, answer);
    if taken {
        comments::keep_pair(outgoing);
    }
    taken
}

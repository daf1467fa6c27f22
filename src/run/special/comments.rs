//! Posts and edits comments.
//!
//! A pair that another comment of the project has is refused by v1 before anything is stored (trap 34), so the
//! comment is sent again without it and the overlay keeps the pair. May use: what `run` may use.

use crate::plan::{Extra, Resource};
use crate::refusal::Refusal;
use crate::run::job::InProject;
use crate::run::members::{Members, id_of};
use crate::run::reads::list;
use crate::run::writes::write::created_but;
use crate::run::{rules, writes};
use crate::translate::outgoing::{self, Outgoing};
use crate::translate::{comments, confirm};
use crate::units::now_micros;
use crate::v1::V1Response;
use crate::v2::Reply;

/// Posts a comment. The work item is looked at first, because v1 takes comments on deleted and foreign items (trap 36).
/// The answer is read back (trap 20).
pub(super) async fn create(job: &InProject<'_>) -> Result<Reply, Refusal> {
    job.hold_required().await?;
    let given = job.given()?;
    let given = job.sanitising(job.body_size(), || comments::sanitise(given)).await??;
    let resource = job.resource();
    let write = job.begin_write().await?;
    let mut outgoing = outgoing::create(resource, &given);
    // A pair that v1 refuses makes it a second post.
    let _room = job.room_for(&[(Extra::RefusedValue, 1)], 0).await?;
    let id = id_of(&writes::create::post(job, resource, &mut outgoing, keep_pair).await?)?;
    let failed = created_but(id);
    let v1 = job.read_record(resource, id).await.map_err(&failed)?;
    confirm::check(resource, &outgoing.body, &v1).confirm(resource).map_err(&failed)?;
    job.keep(resource, id, &outgoing, &v1).await.map_err(&failed)?;
    writes::create::finish(job, write, &v1).await.map_err(failed)
}

/// Moves a pair that v1 refuses to the overlay; whether there is one.
fn keep_pair(_: &Resource, outgoing: &mut Outgoing, answer: &V1Response) -> bool {
    let taken = comments::is_pair_taken(&outgoing.body, answer);
    if taken {
        comments::keep_pair(outgoing);
    }
    taken
}

/// Edits a comment and stamps `edited_at`, which v1 never does (trap 33, `comments_patch_html`). The comment is read
/// first: v1 would let anyone edit it (trap 35). A body without a known member changes nothing and stamps nothing.
pub(super) async fn update(job: &InProject<'_>) -> Result<Reply, Refusal> {
    let write = job.begin_write().await?;
    let stored = list::read_addressed_record(job).await?;
    rules::may_write(job, &stored).await?;
    let given = job.given()?;
    if given.is_empty() {
        return Ok(job.record_reply(stored.record.json.clone()));
    }
    let given = job.sanitising(job.body_size(), || comments::sanitise(given)).await??;
    let (resource, id) = (job.resource(), stored.record.id);
    let now = now_micros();
    let mut outgoing = comments::update(resource, given, &stored, now);
    // Nothing is sent when nothing changes.
    let answer = match outgoing.body.is_empty() {
        true => Members::new(),
        false => writes::update::patch(job, resource, id, &mut outgoing, keep_pair).await?,
    };
    let v1 = job.merge_or_reread(resource, id, &stored.v1_members(), &outgoing.body, &answer).await?;
    job.keep(resource, id, &outgoing, &v1).await?;
    writes::create::finish(job, write, &v1).await
}

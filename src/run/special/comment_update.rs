//! Edits a comment and sets `edited_at`, which v1 never does (trap 33, `comments_patch_html`).
//!
//! The comment is read first: v1 would let anyone edit it (trap 35). A body without a known member changes
//! nothing, not even `edited_at`; a pair that v1 refuses goes to the overlay (trap 34). May use: what `run` may use.

use super::comment_create::keep_pair;
use crate::refusal::Refusal;
use crate::run::job::InProject;
use crate::run::members::Members;
use crate::run::reads::list;
use crate::run::rules;
use crate::run::writes::{create, update};
use crate::translate::comments;
use crate::units::now_micros;
use crate::v2::Reply;

pub(super) async fn run(job: &InProject<'_>) -> Result<Reply, Refusal> {
    let write = job.begin_write().await?;
    let stored = list::read_to_write(job, write.latest()).await?;
    rules::check_may_write(job, &stored).await?;
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
        false => update::patch(job, id, &mut outgoing, keep_pair).await?,
    };
    let v1 = job.merge_or_reread(id, &stored.v1_members(), &outgoing.body, &answer).await?;
    job.keep(id, &outgoing, &v1).await?;
    create::finish(job, write, &v1).await
}

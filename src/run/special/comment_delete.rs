//! Deletes a comment, its overlay with it.
//!
//! The comment is read first: v1 would let anyone delete it (trap 35, `comments_delete_of_others_by_guest_accepted`).

use super::comment;
use crate::refusal::Refusal;
use crate::run::{Job, delete};
use crate::v2::Reply;

pub(super) async fn run(job: &Job) -> Result<Reply, Refusal> {
    let write = job.begin_write().await?;
    let stored = comment::read(job).await?;
    comment::require_author_or_admin(job, &stored)?;
    delete::delete_now(job, write, true).await
}

//! What the operations on comments share: the work item looked at, the comment read, who may change it.
//!
//! v1's comment routes do not look at the work item at all (trap 36, `comments_list_random_item`,
//! `comments_create_on_deleted_item`), so a fresh index row vouches for it or it is read side by side.

use crate::access::Role;
use crate::refusal::Refusal;
use crate::run::Job;
use crate::run::write::same_record;
use crate::translate::{Held, comments};
use crate::v1::V1Request;
use uuid::Uuid;

/// Id of the work item in the path.
pub(super) fn item_id(job: &Job) -> Result<Uuid, Refusal> {
    let text = job.variable("work_item_id").ok_or_else(|| Refusal::internal("no work item in the path"))?;
    Uuid::try_parse(text).map_err(Refusal::internal)
}

/// The comment of the path as it is now, its work item being live.
pub(super) async fn read(job: &Job) -> Result<Held, Refusal> {
    let (item, comment) = tokio::join!(job.live_item(item_id(job)?), record(job));
    item?;
    comment
}

/// v1 answers 404 for a comment of another work item (`comments_get_through_other_item`).
async fn record(job: &Job) -> Result<Held, Refusal> {
    let id = job.pk()?;
    let path = job.record_path(job.resource(), id)?;
    let answer = job.ask_project(V1Request::get(path, ""), Some(id)).await;
    let answer = answer.map_err(|refusal| job.after_refused_read(refusal))?;
    match answer.status {
        200 => {
            let comment = job.translate_record(job.resource(), &answer.body).await?;
            same_record(comment.record.id, job.pk()?)?;
            Ok(comment)
        }
        404 => Err(Refusal::not_found()),
        403 => Err(job.after_refused_read(Refusal::not_found())),
        status => Err(Refusal::upstream("The comment could not be read.", format!("status {status}"))),
    }
}

/// Author or project admin, nobody else (O43): v1 lets anyone in the project edit and delete (trap 35,
/// `comments_patch_of_others_by_guest_accepted`, `comments_delete_of_others_by_guest_accepted`).
pub(super) fn require_author_or_admin(job: &Job, comment: &Held) -> Result<(), Refusal> {
    let admin = job.card()?.require_member()? >= Role::ADMIN;
    if admin || comments::author(comment) == Some(job.call.caller.user.id) {
        return Ok(());
    }
    let detail = "Only the author of a comment or an admin of the project may change it.";
    Err(Refusal::Forbidden { detail: detail.into() })
}

//! The one features record of a workspace (16.2). May use: what `run` may use.

use super::audit;
use super::call::OwnCall;
use crate::catalogue::shapes;
use crate::refusal::Refusal;
use crate::v2::Reply;

pub(super) fn retrieve(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    call.read_reply(shapes::features(&call.catalogue().features))
}

pub(super) async fn update(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    let given = call.job.given()?;
    let (_, after) = call.edit(|edit| edit.update_features(&given)).await?;
    Ok(call.reply(shapes::features(&after.features)))
}

/// Leaves an entry about a change that the caller's role does not allow (O81).
pub(super) async fn record_refusal(call: &OwnCall<'_>, refusal: &Refusal) -> Result<(), Refusal> {
    if !matches!(refusal, Refusal::Forbidden { .. }) {
        return Ok(());
    }
    let entry = audit::refused_features(call.job, call.workspace);
    Ok(call.job.runner.store.record(call.workspace, &[entry]).await?)
}

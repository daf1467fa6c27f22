//! The current user: already read by the credential check, so no v1 call. May use: what `run` may use.

use crate::refusal::Refusal;
use crate::run::Job;
use crate::v2::Reply;
use serde_json::json;

pub(super) fn run(job: &Job) -> Result<Reply, Refusal> {
    let caller = &job.call.caller;
    let user = &caller.user;
    let mut scopes: Vec<String> = caller.scopes.iter().flat_map(|scopes| scopes.iter().cloned()).collect();
    scopes.sort();
    let shown = json!({
        "id": user.id,
        "email": user.email,
        "display_name": user.display_name,
        "principal_kind": <&str>::from(caller.kind),
        "scopes": scopes,
    });
    Ok(job.record_reply(shown.to_string().into()))
}

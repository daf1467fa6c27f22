//! Current user: what the credential check has read already, so no v1 call. May use: what `run` may use.

use crate::refusal::Refusal;
use crate::run::Job;
use crate::translate::users;
use crate::v2::Reply;

pub(super) fn run(job: &Job) -> Result<Reply, Refusal> {
    let caller = &job.call.caller;
    let user = &caller.user;
    let mut scopes: Vec<String> = caller.scopes.iter().flat_map(|scopes| scopes.iter().cloned()).collect();
    scopes.sort();
    let json = users::current_user(user.id, &user.email, &user.display_name, caller.kind.into(), &scopes);
    Ok(job.record_reply(json.into()))
}

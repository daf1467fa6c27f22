//! Explanations of the codes of problems: the meaning of each code, and what to do.
//!
//! May use: nothing of this crate.

/// A code with its meaning and advice.
pub(super) struct Meaning {
    pub(super) code: &'static str,
    pub(super) means: &'static str,
    pub(super) todo: &'static str,
}

/// Returns the explanation of a code; none for an unknown code.
pub(super) fn meaning(code: &str) -> Option<&'static Meaning> {
    MEANINGS.iter().find(|meaning| meaning.code == code)
}

const fn of(code: &'static str, means: &'static str, todo: &'static str) -> Meaning {
    Meaning { code, means, todo }
}

const MEANINGS: [Meaning; 25] = [
    of(
        "validation_error",
        "Something in the path, the query or the body is not what the operation takes.",
        "Read `errors`: it names each field and what is wrong with it. Correct them and send the request again.",
    ),
    of(
        "ordering_not_cursor_eligible",
        "Pages by cursor are not possible in the order that was asked for.",
        "Choose an order that the operation allows with cursors, or page with `offset`.",
    ),
    of(
        "count_pagination_disabled",
        "Pages that need a count are switched off for this list.",
        "Page with `paginate=cursor`.",
    ),
    of(
        "unauthorized",
        "The credential is missing, unknown, expired or revoked.",
        "Send a key as `X-Api-Key` or a token as `Authorization: Bearer`. If there was one, make a new one or refresh the \
         token.",
    ),
    of(
        "forbidden",
        "The credential is good, and may not do this: it lacks a scope, or the person lacks a role.",
        "Use a credential with one of the scopes that `detail` names, or ask an admin of the project.",
    ),
    of(
        "workflow_transition_denied",
        "The rules of the project do not let a work item begin in this state or move to it.",
        "Choose a state that is allowed next, or ask whoever runs the gateway about the rules.",
    ),
    of(
        "resource_not_found",
        "There is nothing at this address that the credential may see.",
        "Check path and ids; each path ends with a slash. What somebody may not see looks the same as what does not exist.",
    ),
    of(
        "method_not_allowed",
        "The path exists, and does not know this method.",
        "Use a method from the `Allow` header.",
    ),
    of(
        "conflict",
        "The request contradicts what is there, such as a name that is taken.",
        "Read `detail`, look at the record, and send a request that fits.",
    ),
    of(
        "gone",
        "This operation of v1 has ended, or is switched off on trial before it ends.",
        "Use the request of v2 that `detail` names.",
    ),
    of(
        "work_item_types_managed_at_workspace",
        "Types of work items are managed for the whole workspace here, or the record belongs to the workspace.",
        "Send the write to the operations of the workspace, while its `is_work_item_types_enabled` is on.",
    ),
    of(
        "work_item_types_managed_at_project",
        "Types of work items are managed in each project here.",
        "Send the write to the operations of the project.",
    ),
    of(
        "idempotency_in_progress",
        "A request with this Idempotency-Key is still running.",
        "Wait as long as `Retry-After` says and send the same request again.",
    ),
    of(
        "precondition_failed",
        "The record is not in the state that `If-Match` or `If-None-Match` asks for: somebody changed it meanwhile.",
        "Read the record, look at what changed, and write with its new `ETag`.",
    ),
    of(
        "idempotency_key_reused",
        "This Idempotency-Key came with another request before.",
        "Use a new key for a new request.",
    ),
    of(
        "rate_limited",
        "There were more requests than the credential, or the service behind, takes in a minute.",
        "Wait as long as `Retry-After` says.",
    ),
    of(
        "internal_error",
        "The gateway failed.",
        "Tell whoever runs it the `X-Request-Id` of the answer; it leads to the cause in the log.",
    ),
    of(
        "not_implemented",
        "The operation is declared and does not work in this version.",
        "Use another version, or v1.",
    ),
    of(
        "upstream_error",
        "The service behind the gateway failed, or answered in a way that cannot be trusted.",
        "Read `detail`: of a write it says whether it may have been carried out. If it may, look before sending it again.",
    ),
    of(
        "upstream_unavailable",
        "The service behind the gateway cannot be reached.",
        "Wait as long as `Retry-After` says. Nothing was written.",
    ),
    of(
        "overloaded",
        "The gateway is full, or other writes of the same record took too long.",
        "Wait as long as `Retry-After` says, and send fewer requests at once.",
    ),
    of(
        "index_building",
        "The project is being read for the first time, and the request cannot be answered before.",
        "Wait as long as `Retry-After` says; it is read only once.",
    ),
    of(
        "store_unavailable",
        "The gateway's own store cannot be used.",
        "Wait and try again. If it lasts, tell whoever runs the gateway.",
    ),
    of(
        "upstream_timeout",
        "The service behind the gateway did not answer in time.",
        "Read `detail`: of a write it says whether it may have been carried out. If it may, look before sending it again.",
    ),
    of(
        "deadline_exceeded",
        "The request took longer than the gateway lets it.",
        "Ask for less at once, such as a smaller page, or try again later.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::codes::TABLE;

    #[test]
    fn every_code_has_a_meaning() {
        assert!(TABLE.iter().all(|(_, code)| meaning(code).is_some()));
        assert!(MEANINGS.iter().all(|meaning| meaning.means.ends_with('.') && meaning.todo.ends_with('.')));
    }
}

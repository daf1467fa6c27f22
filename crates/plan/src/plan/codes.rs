//! The error codes of v2, each with its status: the contract's table and the closed list of
//! additional codes a gateway needs. May use: nothing of this crate.

/// Status and code of every refusal.
pub const TABLE: [(u16, &str); 24] = [
    (400, "validation_error"),
    (400, "ordering_not_cursor_eligible"),
    (400, "count_pagination_disabled"),
    (401, "unauthorized"),
    (403, "forbidden"),
    (403, "workflow_transition_denied"),
    (404, "resource_not_found"),
    (405, "method_not_allowed"),
    (409, "conflict"),
    (409, "work_item_types_managed_at_workspace"),
    (409, "work_item_types_managed_at_project"),
    (409, "idempotency_in_progress"),
    (412, "precondition_failed"),
    (422, "idempotency_key_reused"),
    (429, "rate_limited"),
    (500, "internal_error"),
    (501, "not_implemented"),
    (502, "upstream_error"),
    (503, "upstream_unavailable"),
    (503, "overloaded"),
    (503, "index_building"),
    (503, "store_unavailable"),
    (504, "upstream_timeout"),
    (504, "deadline_exceeded"),
];

/// Returns the status of an error code; `None` for an unknown code.
pub fn status_of(code: &str) -> Option<u16> {
    TABLE.iter().find(|(_, known)| *known == code).map(|(status, _)| *status)
}

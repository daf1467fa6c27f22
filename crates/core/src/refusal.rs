//! Every way a v2 request can be refused, as plain values.
//!
//! Purpose: one vocabulary of failure for all folders. Code that cannot carry out a request returns a [`Refusal`]; only
//! `edge::problem` turns it into bytes. The `cause` of a variant is for the log and never
//! reaches a client.
//!
//! May use: nothing of this crate. May be used by every folder but `sandbox`.

mod fields;

pub use fields::{FieldError, FieldErrors};

use std::fmt;
use uuid::Uuid;

/// Text for every client when v1 did not answer a call that was not carried out, or that changes nothing.
pub const NO_ANSWER: &str = "The service behind did not answer in time. Nothing was changed.";
/// Text for every client whose write v1 may have carried out.
pub const MAY_BE_DONE: &str = "The write may have been carried out. Look the record up (read it by its id, or search \
                               the list for its name) before repeating the request.";

/// A token or gateway key that was valid once, for code that records its use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedCredential {
    /// The grant of a token, or the key.
    pub id: Uuid,
    /// The user it acted for.
    pub user: Uuid,
    /// `oauth_grant` or `gateway_key`.
    pub kind: &'static str,
    /// The only workspace it opened: its id and the name it had.
    pub workspace: Option<(Uuid, String)>,
}

/// The reason why a v2 request does not succeed. The codes are those of the contract (chapter 9) and the additional
/// ones in `plan::codes`.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// 400 `validation_error`.
    Validation {
        /// Prose: the first fault in words, or what is wrong with the whole request.
        detail: String,
        /// One entry per rejected field, at most 100; may be empty when no field fits (O28).
        errors: Vec<FieldError>,
    },
    /// 431 `validation_error`: the head of the request is larger than the gateway reads.
    HeadTooLarge {
        /// Prose with the limit.
        detail: String,
    },
    /// 400 `ordering_not_cursor_eligible`, with the ordering that was in effect.
    OrderingNotCursorEligible {
        /// The effective ordering, for example `sort_order`.
        ordering: String,
    },
    /// 401 `unauthorized`.
    Unauthorized {
        /// Prose; never says whether a credential exists.
        detail: String,
    },
    /// 401 `unauthorized`: a bearer token or gateway key that is not, or no longer, valid (RFC 6750
    /// `invalid_token`).
    InvalidToken {
        /// Prose: where the token belongs, or the same words for unknown, expired and revoked tokens.
        detail: String,
        /// The credential, when it was valid once; never told to the client.
        ended: Option<Box<EndedCredential>>,
    },
    /// 403 `forbidden`: the credential lacks a scope (RFC 6750 `insufficient_scope`).
    InsufficientScope {
        /// The scopes, of which any one is enough.
        scopes: Vec<String>,
    },
    /// 403 `forbidden`: visible, but the role or scope is not enough.
    Forbidden {
        /// Prose about what is missing.
        detail: String,
    },
    /// 403 `workflow_transition_denied`.
    WorkflowDenied {
        /// Prose: the move that is not allowed.
        detail: String,
    },
    /// 404 `resource_not_found`: absent or invisible; the answer does not say which.
    NotFound {
        /// Prose about the thing that was looked up.
        detail: String,
    },
    /// 405 `method_not_allowed`.
    MethodNotAllowed {
        /// Methods of the path, for the `Allow` header.
        allow: Vec<&'static str>,
    },
    /// 409 `conflict`.
    Conflict {
        /// Prose: the rule that the request breaks.
        detail: String,
    },
    /// 409 `work_item_types_managed_at_workspace`.
    ManagedAtWorkspace,
    /// 409 `work_item_types_managed_at_workspace`: the record belongs to the workspace, whatever its mode is.
    OwnedByWorkspace,
    /// 409 `work_item_types_managed_at_project`.
    ManagedAtProject,
    /// 412 `precondition_failed`: the record no longer has the version that `If-Match` demands.
    PreconditionFailed {
        /// Prose about the comparison.
        detail: String,
    },
    /// 422 `idempotency_key_reused`: the key was already sent with a different request.
    IdempotencyKeyReused,
    /// 409 `idempotency_in_progress`: the earlier request with this key is still running.
    IdempotencyInProgress {
        /// Whole seconds until a retry makes sense.
        retry_after: u64,
    },
    /// 429 `rate_limited`.
    RateLimited {
        /// Whole seconds until a retry makes sense, at least 1.
        retry_after: u64,
        /// Prose: the limit that was reached, and to whom it applies.
        detail: String,
    },
    /// 410 `gone`: an operation of v1 that is no longer served, or not at the moment.
    Gone {
        /// Prose for the client: until when, and the replacement.
        detail: String,
    },
    /// 500 `internal_error`: a fault of the gateway itself.
    Internal {
        /// For the log only.
        cause: String,
    },
    /// 501 `not_implemented`: declared, but not working in this version.
    NotImplemented {
        /// Id of the operation.
        operation: String,
    },
    /// 502 `upstream_error`: an answer of v1 that cannot be true, so it is not passed on.
    UpstreamError {
        /// Prose for the client, for example which part was stored and which was not.
        detail: String,
        /// For the log only.
        cause: String,
    },
    /// 502 `upstream_error`: v1 itself failed (5xx).
    UpstreamFault {
        /// Prose for the client.
        detail: String,
        /// For the log only.
        cause: String,
    },
    /// 503 `upstream_unavailable`: v1 could not be reached.
    UpstreamUnavailable {
        /// For the log only.
        cause: String,
        /// Whole seconds until a retry makes sense, at least 1.
        retry_after: u64,
    },
    /// 503 `upstream_unavailable`: a list changed faster than it can be read; nothing was written.
    KeptChanging {
        /// For the log only.
        cause: String,
    },
    /// 504 `upstream_timeout`: v1 did not answer in time.
    UpstreamTimeout {
        /// Prose: whether a write may have been carried out.
        detail: String,
    },
    /// A write that v1 may have carried out: 504 `upstream_timeout` when v1 did not answer in time, else 502
    /// `upstream_error`. It is the only refusal for such a write, and it never invites the client to repeat it.
    OutcomeUnknown {
        /// Prose for the client: that the write may have been carried out, and how to find out.
        detail: String,
        /// For the log only.
        cause: String,
        /// Whether v1 did not answer in time.
        timed_out: bool,
    },
    /// 503 `overloaded`: more requests at once than configured.
    Overloaded,
    /// 503 `overloaded`: a write that waited behind other writes to the same record or rule. Nothing was carried out.
    TurnNotReached {
        /// Prose: the record or rule that it waited for.
        detail: String,
    },
    /// 504 `deadline_exceeded`: the request's own deadline passed.
    DeadlineExceeded {
        /// Whether the request was a write that may have been carried out.
        maybe_done: bool,
    },
    /// 503 `index_building`.
    IndexBuilding {
        /// Progress in prose.
        detail: String,
        /// Whole seconds until a retry makes sense.
        retry_after: u64,
    },
    /// 503 `store_unavailable`: the gateway's own store cannot be read or written.
    StoreUnavailable {
        /// For the log only.
        cause: String,
    },
    /// 503 `store_unavailable`: the outcome of a write is not known yet, and an answer would show half of the write.
    WriteUndecided,
}

impl FieldErrors {
    /// Returns `value` when no field was rejected.
    ///
    /// # Errors
    /// Returns the `validation_error` otherwise.
    pub fn or<T>(self, value: T) -> Result<T, Refusal> {
        if self.is_empty() { Ok(value) } else { Err(Refusal::fields(self)) }
    }
}

impl Refusal {
    /// Creates a `validation_error` about one field.
    pub fn field(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::fields(vec![FieldError::new(field, message)])
    }

    /// Creates a `validation_error` about several fields; `detail` is the first fault in words.
    pub fn fields(errors: impl Into<FieldErrors>) -> Self {
        let errors = errors.into();
        Self::Validation { detail: errors.in_words(), errors: errors.into_kept() }
    }

    /// Creates a `validation_error` that fits no single field.
    pub fn invalid(detail: impl Into<String>) -> Self {
        Self::Validation { detail: detail.into(), errors: Vec::new() }
    }

    /// Creates the refusal of a request whose head is larger than the gateway reads.
    pub fn head_too_large(detail: impl Into<String>) -> Self {
        Self::HeadTooLarge { detail: detail.into() }
    }

    /// Creates the 404 for records, with the same words whether the record is absent or invisible.
    pub fn not_found() -> Self {
        Self::NotFound { detail: "No such record, or not visible to this credential.".into() }
    }

    /// Creates the 401 for a request without a credential.
    pub fn no_credential() -> Self {
        Self::Unauthorized {
            detail: "No credential was sent. Send a key in the header X-Api-Key, or an access token in the header \
                     Authorization as `Bearer …`."
                .into(),
        }
    }

    /// Creates the 401 for tokens and gateway keys that are not, or no longer, valid. Unknown ones get the same words
    /// as ended ones, so that no client learns which ones were ever issued.
    pub fn invalid_token() -> Self {
        Self::misplaced_token(
            "This access token or gateway key is not good: it expired, was revoked, or was never given out. \
             Refresh the token, log in again, or ask for another key.",
        )
    }

    /// Creates the 401 for a token or gateway key in the wrong place; `detail` says where it belongs.
    pub fn misplaced_token(detail: impl Into<String>) -> Self {
        Self::InvalidToken { detail: detail.into(), ended: None }
    }

    /// As [`Refusal::invalid_token`], for a credential that was valid once.
    pub fn ended_credential(known: EndedCredential) -> Self {
        match Self::invalid_token() {
            Self::InvalidToken { detail, .. } => Self::InvalidToken { detail, ended: Some(Box::new(known)) },
            other => other,
        }
    }

    /// Creates the refusal for a fault of the gateway, with its cause for the log.
    pub fn internal(cause: impl fmt::Display) -> Self {
        Self::Internal { cause: cause.to_string() }
    }

    /// Creates the refusal for an answer of v1 that cannot be true, with its cause for the log.
    pub fn upstream(detail: impl Into<String>, cause: impl fmt::Display) -> Self {
        Self::UpstreamError { detail: detail.into(), cause: cause.to_string() }
    }

    /// Creates the refusal for a write that v1 may have carried out. `what` is a sentence about the failure; the advice
    /// how to find out the outcome is added.
    pub fn outcome_unknown(what: impl fmt::Display, cause: impl fmt::Display, timed_out: bool) -> Self {
        Self::OutcomeUnknown { detail: format!("{what} {MAY_BE_DONE}"), cause: cause.to_string(), timed_out }
    }

    /// Creates the refusal for an unreachable v1, with the cause for the log. A retry makes sense soon.
    pub fn unavailable(cause: impl fmt::Display) -> Self {
        Self::UpstreamUnavailable { cause: cause.to_string(), retry_after: 1 }
    }

    /// Checks whether v1 is away or failing. Such a refusal says nothing about the data that was asked for.
    pub fn is_upstream_failure(&self) -> bool {
        matches!(self, Self::UpstreamFault { .. } | Self::UpstreamUnavailable { .. } | Self::UpstreamTimeout { .. })
    }

    /// Returns the HTTP status of this refusal.
    pub fn status(&self) -> u16 {
        self.status_and_code().0
    }

    /// Returns the stable machine-readable code of this refusal.
    pub fn code(&self) -> &'static str {
        self.status_and_code().1
    }

    fn status_and_code(&self) -> (u16, &'static str) {
        match self {
            Self::Validation { .. } => (400, "validation_error"),
            Self::OrderingNotCursorEligible { .. } => (400, "ordering_not_cursor_eligible"),
            Self::Unauthorized { .. } | Self::InvalidToken { .. } => (401, "unauthorized"),
            Self::InsufficientScope { .. } | Self::Forbidden { .. } => (403, "forbidden"),
            Self::WorkflowDenied { .. } => (403, "workflow_transition_denied"),
            Self::NotFound { .. } => (404, "resource_not_found"),
            Self::MethodNotAllowed { .. } => (405, "method_not_allowed"),
            Self::Conflict { .. } => (409, "conflict"),
            Self::ManagedAtWorkspace | Self::OwnedByWorkspace => (409, "work_item_types_managed_at_workspace"),
            Self::ManagedAtProject => (409, "work_item_types_managed_at_project"),
            Self::IdempotencyInProgress { .. } => (409, "idempotency_in_progress"),
            Self::Gone { .. } => (410, "gone"),
            Self::PreconditionFailed { .. } => (412, "precondition_failed"),
            Self::IdempotencyKeyReused => (422, "idempotency_key_reused"),
            Self::RateLimited { .. } => (429, "rate_limited"),
            Self::HeadTooLarge { .. } => (431, "validation_error"),
            Self::Internal { .. } => (500, "internal_error"),
            Self::NotImplemented { .. } => (501, "not_implemented"),
            Self::UpstreamError { .. }
            | Self::UpstreamFault { .. }
            | Self::OutcomeUnknown { timed_out: false, .. } => (502, "upstream_error"),
            Self::UpstreamUnavailable { .. } | Self::KeptChanging { .. } => (503, "upstream_unavailable"),
            Self::Overloaded | Self::TurnNotReached { .. } => (503, "overloaded"),
            Self::IndexBuilding { .. } => (503, "index_building"),
            Self::StoreUnavailable { .. } | Self::WriteUndecided => (503, "store_unavailable"),
            Self::UpstreamTimeout { .. } | Self::OutcomeUnknown { timed_out: true, .. } => {
                (504, "upstream_timeout")
            }
            Self::DeadlineExceeded { .. } => (504, "deadline_exceeded"),
        }
    }
}

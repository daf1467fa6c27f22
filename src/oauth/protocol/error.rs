//! Errors of the protocol, with the codes of the RFCs (RFC 6749, 4.1.2.1 and 5.2).
//!
//! May use: nothing.

use serde::Serialize;

/// An error for clients: JSON from endpoints, query parameters in a redirect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OAuthError {
    /// One of the registered codes.
    pub error: &'static str,
    /// Prose for developers; printable ASCII without quotes and backslashes.
    #[serde(rename = "error_description")]
    pub description: String,
    /// HTTP status at an endpoint.
    #[serde(skip)]
    pub status: u16,
    /// Seconds to wait, for status 429.
    #[serde(skip)]
    pub retry_after: Option<u64>,
}

impl OAuthError {
    /// An error with status 400.
    pub fn new(error: &'static str, description: impl Into<String>) -> Self {
        let legal = |c: &char| matches!(c, ' '..='~') && !matches!(c, '"' | '\\');
        let description = description.into().chars().filter(legal).collect();
        Self { error, description, status: 400, retry_after: None }
    }

    /// `invalid_request`.
    pub fn invalid_request(description: impl Into<String>) -> Self {
        Self::new("invalid_request", description)
    }

    /// `invalid_client`, with 401.
    pub fn invalid_client() -> Self {
        let description = "The client is unknown or did not authenticate.";
        Self { status: 401, ..Self::new("invalid_client", description) }
    }

    /// `invalid_grant`: the same text for every problem with a code or refresh token.
    pub fn invalid_grant() -> Self {
        Self::new(
            "invalid_grant",
            "The code or refresh token is unknown, expired, used, revoked, or not for this use.",
        )
    }

    /// `invalid_scope`.
    pub fn invalid_scope(description: impl Into<String>) -> Self {
        Self::new("invalid_scope", description)
    }

    /// A temporary error of the server.
    pub fn unavailable(description: impl Into<String>) -> Self {
        Self { status: 503, ..Self::new("temporarily_unavailable", description) }
    }
}

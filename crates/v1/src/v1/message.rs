//! Requests to v1 and answers from it, as plain values. May use: `budget`, `refusal`.

use super::budget::Shortage;
use crate::refusal::Refusal;
use bytes::Bytes;
use http::Method;
use std::time::Duration;

/// One call to v1.
#[derive(Debug, Clone, PartialEq)]
pub struct V1Request {
    /// Method; only reads (GET) may be retried.
    pub method: Method,
    /// Path below `/api/v1/`, percent-encoded, ending with a slash (v1 answers 301 without it, trap 13,
    /// `errors_slash_missing_post`). Ids in it are lower case (trap 12, `errors_upper_case_uuid_path`).
    pub path: String,
    /// Query string without `?`; empty for none.
    pub query: String,
    /// JSON body of a write.
    pub body: Option<Bytes>,
}

impl V1Request {
    /// Creates a read of `path`.
    pub fn get(path: impl Into<String>, query: impl Into<String>) -> Self {
        Self { method: Method::GET, path: path.into(), query: query.into(), body: None }
    }

    /// Creates a write of `body` (JSON) to `path`.
    pub fn write(method: Method, path: impl Into<String>, body: impl Into<Bytes>) -> Self {
        Self { method, path: path.into(), query: String::new(), body: Some(body.into()) }
    }

    /// Creates a delete of `path`.
    pub fn delete(path: impl Into<String>) -> Self {
        Self { method: Method::DELETE, path: path.into(), query: String::new(), body: None }
    }
}

/// A complete answer of v1: any status, body within the size cap.
#[derive(Debug, Clone, PartialEq)]
pub struct V1Response {
    /// HTTP status.
    pub status: u16,
    /// Body as received.
    pub body: Bytes,
    /// Whether the content type was JSON; v1's second kind of 500 is an HTML page (trap 11,
    /// `errors_null_byte_in_query`).
    pub is_json: bool,
    /// `Retry-After` in seconds, sent with 429 (trap 57, `throttle_limited`).
    pub retry_after: Option<u64>,
}

impl V1Response {
    /// Checks whether the status is 2xx.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// Reason why there is no complete answer of v1.
#[derive(Debug, Clone, thiserror::Error)]
pub enum V1Error {
    /// The connection could not be made, so the request was not carried out.
    #[error("v1 could not be reached: {0}")]
    Unreachable(String),
    /// The connection broke after the request may have been received.
    #[error("the connection to v1 broke: {0}")]
    Broken(String),
    /// No complete answer within the time allowed.
    #[error("v1 did not answer in time")]
    Timeout {
        /// Whether v1 may have carried out the request.
        maybe_done: bool,
    },
    /// The answer was larger than the cap, in bytes.
    #[error("the answer of v1 is larger than {0} bytes")]
    TooLarge(usize),
    /// The request cannot be sent as it is, for example with `..` in its path: an error of the gateway. Nothing was
    /// sent.
    #[error("the request to v1 cannot be sent: {0}")]
    Unsendable(String),
    /// v1 has failed so often that no call is made for this time. Nothing was sent.
    #[error("v1 is not asked for {0:?}, because it could not be used")]
    Paused(Duration),
    /// A quota has no room for the call before the deadline. Nothing was sent.
    #[error("the quota at v1 allows the call in {:?}", .0.wait)]
    Limited(Shortage),
    /// The last check before sending found that the client may no longer make the write. Nothing was sent.
    #[error("the write was not sent: {0:?}")]
    Withdrawn(Box<Refusal>),
    /// The gateway has no memory for the answer of a read.
    #[error("there is no memory for the answer of v1")]
    NoRoom,
}

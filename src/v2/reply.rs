//! A successful answer of a v2 operation, before it becomes HTTP.

use bytes::Bytes;

/// Status and body of a success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// HTTP status, always 2xx.
    pub status: u16,
    /// JSON body; `None` for 204.
    pub body: Option<Bytes>,
}

impl Reply {
    /// A JSON body with `status`.
    pub fn json(status: u16, body: impl Into<Bytes>) -> Self {
        Self { status, body: Some(body.into()) }
    }

    /// 204 without a body.
    pub fn no_content() -> Self {
        Self { status: 204, body: None }
    }
}

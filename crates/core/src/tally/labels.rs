//! The labels of requests beside their operation, and their names in figures.
//!
//! May use: nothing of this crate.

use strum::VariantNames;

/// The source of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum Source {
    /// The gateway's own store.
    Own,
    /// The index of work items.
    Index,
    /// Data that was read from v1 before.
    Cache,
    /// Calls to v1, including those that only proved the caller's identity.
    V1,
    /// The deployment's own v2.
    Native,
    /// Older data than usual, because v1 gave nothing newer.
    Stale,
    /// Nothing had to be looked up.
    #[strum(serialize = "none")]
    Nothing,
}

impl Source {
    /// Returns the name in figures.
    pub fn name(self) -> &'static str {
        Self::VARIANTS[self as usize]
    }
}

/// The kind of a request that is no operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum Kind {
    /// Passed through to v1.
    PassThrough,
    /// The authorization server.
    #[strum(serialize = "oauth")]
    OAuth,
    /// Documentation and the like.
    Pages,
    /// `/healthz` and `/readyz`.
    Health,
    /// A path below `/api/v2/` that is no operation.
    Unknown,
}

/// Names of the classes of statuses; the last is for clients that left before the answer.
pub(super) const STATUSES: [&str; 5] = ["2xx", "3xx", "4xx", "5xx", "left"];

pub(super) fn class(status: Option<u16>) -> usize {
    match status {
        None => 4,
        Some(status) => usize::from(status / 100).clamp(2, 5) - 2,
    }
}

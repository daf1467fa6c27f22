//! What requests are told apart by, beside their operation, and how that is shown.
//!
//! May use: nothing of this crate.

use strum::VariantNames;

/// Where an answer came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum Source {
    /// The gateway's own store.
    Own,
    /// The index of work items.
    Index,
    /// What was read from v1 before.
    Cache,
    /// Calls to v1, also those that only proved who asks.
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
    /// As it is shown.
    pub fn name(self) -> &'static str {
        Self::VARIANTS[self as usize]
    }
}

/// What a request is that is no operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum Kind {
    /// It goes through to v1.
    PassThrough,
    /// The authorization server.
    #[strum(serialize = "oauth")]
    OAuth,
    /// Documentation and the like.
    Pages,
    /// `/healthz` and `/readyz`.
    Health,
    /// Below `/api/v2/`, and no operation.
    Unknown,
}

impl Kind {
    /// As it is shown in place of an operation.
    pub fn name(self) -> &'static str {
        Self::VARIANTS[self as usize]
    }
}

/// Classes of statuses as they are shown; the last is for clients that left before the answer.
pub(super) const STATUSES: [&str; 5] = ["2xx", "3xx", "4xx", "5xx", "left"];

pub(super) fn class(status: Option<u16>) -> usize {
    match status {
        None => 4,
        Some(status) => usize::from(status / 100).clamp(2, 5) - 2,
    }
}

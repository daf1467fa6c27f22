//! The error of a read that requests with several keys may wait for.
//!
//! May use: `fresh`, `refusal`, `v1` (keys).

use crate::fresh::ReadLost;
use crate::refusal::Refusal;
use crate::v1::KeyId;

/// The error of a failed read, and the key of the read. The error may concern only that key.
#[derive(Debug, Clone)]
pub struct ReadFailure {
    /// The error.
    pub refusal: Refusal,
    /// The key; none when the read was lost.
    pub key: Option<KeyId>,
}

impl From<ReadLost> for ReadFailure {
    fn from(lost: ReadLost) -> Self {
        Self { refusal: lost.into(), key: None }
    }
}

impl ReadFailure {
    /// Checks whether the error may concern only the key of the read, so that the key `own` may succeed.
    pub fn concerns_another_key(&self, own: KeyId) -> bool {
        let of_a_key = matches!(
            self.refusal,
            Refusal::Unauthorized { .. }
                | Refusal::Forbidden { .. }
                | Refusal::NotFound { .. }
                | Refusal::RateLimited { .. }
        );
        of_a_key && self.key.is_some_and(|key| key != own)
    }
}

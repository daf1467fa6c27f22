//! What identifies a credential here, and the refusal for too many requests. May use: `refusal`.

use crate::refusal::Refusal;
use std::time::Duration;

/// SHA-256 of a credential as it was presented.
pub type CredentialId = [u8; 32];

pub(super) fn limited(wait: Duration, detail: String) -> Refusal {
    Refusal::RateLimited { retry_after: (wait.as_secs_f64().ceil() as u64).max(1), detail }
}

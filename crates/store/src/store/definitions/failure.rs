//! Why an edit of definitions was not made. May use: `refusal`, this folder.

use super::super::error::StoreError;
use crate::refusal::Refusal;

/// Why an edit was not made.
pub(super) enum Failure {
    Store(StoreError),
    Refused(Refusal),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

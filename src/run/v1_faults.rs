//! What it means when a read of v1 fails or its data cannot be translated. May use: what `run` may use.

use crate::refusal::Refusal;
use crate::translate::Fault;
use crate::v1::{NotDone, V1Response};

/// A page of a list that v1 refused: the card said the project is visible, so it no longer is, or v1 keeps the list
/// from members. A new card tells (trap 2).
pub(super) fn refused_read(failure: NotDone) -> Refusal {
    match failure {
        NotDone::Answered(V1Response { status: 403, .. }) => refused_list(),
        NotDone::Answered(V1Response { status: 404, .. }) => Refusal::not_found(),
        other => other.into(),
    }
}

/// v1 does not show a list to somebody who is in the project.
pub(super) fn refused_list() -> Refusal {
    Refusal::Forbidden { detail: "The service behind does not show this list to you.".into() }
}

/// v1 data that cannot be translated.
pub(super) fn bad_data(fault: &Fault) -> Refusal {
    Refusal::upstream("The service behind answered with data that does not fit its own interface.", fault)
}

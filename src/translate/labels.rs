//! Oddities of labels.
//!
//! May use: `refusal`.

use super::Held;
use crate::refusal::{FieldError, Refusal};
use serde_json::Value;
use uuid::Uuid;

/// v1's words for the name of a workspace-level label, of any workspace (trap 9,
/// `labels_create_same_name_as_workspace_label_of_other_workspace`).
const TAKEN_BY_WORKSPACE: &str = "Label with this name already exists.";

/// Puts v1's bare sentence about workspace-level labels into words a client can act on.
pub fn explain(refusal: Refusal) -> Refusal {
    let Refusal::Validation { detail, errors } = refusal else { return refusal };
    let reword = |error: FieldError| match error.message.as_str() {
        TAKEN_BY_WORKSPACE => FieldError::new(
            error.field,
            "is the name of a workspace-level label; the backend does not let a project label share it",
        ),
        _ => error,
    };
    Refusal::Validation { detail, errors: errors.into_iter().map(reword).collect() }
}

/// Labels directly below `parent`. v1 deletes them with it (trap 39, `labels_child_after_parent_delete`).
pub fn children(labels: &[Held], parent: Uuid) -> Vec<Uuid> {
    labels.iter().filter(|label| parent_of(label) == Some(parent)).map(|label| label.record.id).collect()
}

/// The label above, as v1 shows it.
pub fn parent_of(label: &Held) -> Option<Uuid> {
    let members = label.v1_members();
    members.get("parent").and_then(Value::as_str).and_then(|id| Uuid::try_parse(id).ok())
}

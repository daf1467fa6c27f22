//! Oddities of labels.
//!
//! May use: nothing beyond JSON.

use super::Held;
use serde_json::Value;
use uuid::Uuid;

/// Labels directly below `parent`. v1 deletes them with it (trap 39, `labels_child_after_parent_delete`).
pub fn children(labels: &[Held], parent: Uuid) -> Vec<Uuid> {
    labels.iter().filter(|label| parent_of(label) == Some(parent)).map(|label| label.record.id).collect()
}

/// The label above, as v1 shows it.
pub fn parent_of(label: &Held) -> Option<Uuid> {
    let members = label.v1_members();
    members.get("parent").and_then(Value::as_str).and_then(|id| Uuid::try_parse(id).ok())
}

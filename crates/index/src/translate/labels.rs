//! Oddities of labels.
//!
//! May use: nothing beyond JSON.

use super::Held;
use serde_json::Value;
use uuid::Uuid;

/// The label above, as v1 shows it. v1 deletes a label together with those below (trap 39,
/// `labels_child_after_parent_delete`).
pub fn parent_of(label: &Held) -> Option<Uuid> {
    let members = label.v1_members();
    members.get("parent").and_then(Value::as_str).and_then(|id| Uuid::try_parse(id).ok())
}

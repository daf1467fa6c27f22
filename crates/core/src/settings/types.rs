//! Work item types: what the plan of this deployment has. May use: this folder.

use super::reader::Reader;

/// Work item types (`[types]`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypeSettings {
    /// Whether workspaces may manage types themselves; without, every workspace stays in project mode (O31).
    pub workspace_level: bool,
}

impl TypeSettings {
    pub(super) fn read(from: &mut Reader) -> Self {
        Self { workspace_level: from.get("types.workspace_level") }
    }
}

//! Ids that stand in for those of workspaces which v1 does not tell. May use: `service`, `workspace_id`.

use super::service::Access;
use super::workspace_id;
use uuid::Uuid;

impl Access {
    /// Whether `id` stands in for the id of the workspace because the caller sees no project there. A record stored
    /// under it would be out of sight as soon as a project shows the real one.
    pub fn is_stand_in(&self, slug: &str, id: Uuid) -> bool {
        id == workspace_id::derived(self.inner.client.base_url(), slug)
    }
}

//! What is left of a project that v1 has deleted.
//!
//! May use: `units`, this folder.

use super::error::StoreError;
use super::items::bump;
use super::rows::{query, read_all};
use super::service::Store;
use crate::units::now_micros;
use uuid::Uuid;

impl Store {
    /// Workspaces in whose definitions the project is named: in a context, or as the owner or user of something.
    pub async fn workspaces_naming(&self, project: Uuid) -> Result<Vec<Uuid>, StoreError> {
        let text = "SELECT workspace_id FROM property_context WHERE deleted_at IS NULL AND projects LIKE $1 \
                    UNION SELECT workspace_id FROM work_item_type WHERE deleted_at IS NULL AND project_id = $2 \
                    UNION SELECT workspace_id FROM property WHERE deleted_at IS NULL AND project_id = $2 \
                    UNION SELECT workspace_id FROM type_import WHERE project_id = $2";
        let rows = query(text, &[&format!("%{project}%"), &project]).fetch_all(self.engine.pool()).await?;
        read_all(&rows, |cells| cells.next())
    }

    /// Notes that v1 shows no item of the project any more, so that a sweep can take what is recorded on them.
    pub async fn miss_project(&self, project: Uuid) -> Result<(), StoreError> {
        let mut writing = self.engine.writing().await?;
        let text = "UPDATE work_item SET missing_since = $2 WHERE project_id = $1 AND missing_since IS NULL";
        let missed = query(text, &[&project, &now_micros()]).execute(&mut *writing).await?;
        if missed.rows_affected() == 0 {
            return writing.rollback().await;
        }
        bump(&mut writing, project).await?;
        writing.commit().await
    }
}

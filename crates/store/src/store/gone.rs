//! What is left of a project that v1 has deleted.
//!
//! May use: `units`, this folder.

use super::error::StoreError;
use super::items::bump;
use super::rows::read_id;
use super::service::Store;
use crate::units::now_micros;
use sqlx::Row;
use uuid::Uuid;

impl Store {
    /// Workspaces in whose definitions the project is named: in a context, or as the owner or user of something.
    pub async fn workspaces_naming(&self, project: Uuid) -> Result<Vec<Uuid>, StoreError> {
        let rows = sqlx::query(
            "SELECT workspace_id FROM property_context WHERE deleted_at IS NULL AND projects LIKE $1 \
             UNION SELECT workspace_id FROM work_item_type WHERE deleted_at IS NULL AND project_id = $2 \
             UNION SELECT workspace_id FROM property WHERE deleted_at IS NULL AND project_id = $2 \
             UNION SELECT workspace_id FROM type_import WHERE project_id = $2",
        )
        .bind(format!("%{project}%"))
        .bind(project.to_string())
        .fetch_all(self.engine.pool())
        .await?;
        rows.iter().map(|row| read_id(row.try_get(0)?)).collect()
    }

    /// Notes that v1 shows no item of the project any more, so that a sweep can take what is recorded on them.
    pub async fn miss_project(&self, project: Uuid) -> Result<(), StoreError> {
        let mut writing = self.engine.writing().await?;
        let missed =
            sqlx::query("UPDATE work_item SET missing_since = $2 WHERE project_id = $1 AND missing_since IS NULL")
                .bind(project.to_string())
                .bind(now_micros())
                .execute(&mut *writing)
                .await?;
        if missed.rows_affected() == 0 {
            return writing.rollback().await;
        }
        bump(&mut writing, project).await?;
        writing.commit().await
    }
}

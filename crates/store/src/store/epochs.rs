//! What gateway processes that share a store tell each other: that a project was written to.
//!
//! A SQLite file belongs to one process, so there nobody else can write and there is nobody to tell.
//! May use: this folder.

use super::engine::Kind;
use super::error::StoreError;
use super::service::Store;
use sqlx::Row;
use uuid::Uuid;

impl Store {
    /// Number of writes to v1 that any gateway process made in the project. Where one process has the store
    /// to itself there is nothing to tell, and it is always 0.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    pub async fn epoch(&self, project: Uuid) -> Result<i64, StoreError> {
        if self.engine.kind() == Kind::Sqlite {
            return Ok(0);
        }
        self.ask(&self.epochs, project, move |store| async move { store.stored_epoch(project).await }).await
    }

    async fn stored_epoch(&self, project: Uuid) -> Result<i64, StoreError> {
        let row = sqlx::query("SELECT epoch FROM project WHERE id = $1")
            .bind(project.to_string())
            .fetch_optional(self.engine.pool())
            .await?;
        Ok(row.map(|row| row.try_get(0)).transpose()?.unwrap_or(0))
    }

    /// Tells all gateway processes of a write to v1 in the project; the new number.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written.
    pub async fn bump_epoch(&self, project: Uuid) -> Result<i64, StoreError> {
        if self.engine.kind() == Kind::Sqlite {
            return Ok(0);
        }
        let row = sqlx::query(
            "INSERT INTO project (id, items, epoch) VALUES ($1, 0, 1) \
             ON CONFLICT (id) DO UPDATE SET epoch = project.epoch + 1 RETURNING epoch",
        )
        .bind(project.to_string())
        .fetch_one(self.engine.pool())
        .await?;
        Ok(row.try_get(0)?)
    }
}

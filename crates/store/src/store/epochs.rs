//! What gateway processes that share a store tell each other: that a project was written to.
//!
//! A SQLite file belongs to one process, so there nobody else can write and there is nobody to tell.
//! May use: `fresh`, this folder.

use super::engine::sql;
use super::error::StoreError;
use super::kind::Kind;
use super::peers::NOTES;
use super::service::Store;
use super::under_way::{Note, Noted};
use crate::fresh::Changed;
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

    /// Tells all gateway processes of a write to v1 in the project, and of what else it may have changed; the new number.
    /// With `heard` it waits until all have heard of it.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written.
    pub async fn bump_epoch(&self, project: Uuid, changed: Vec<Changed>, heard: bool) -> Result<i64, StoreError> {
        self.raise_epoch(project, changed, heard, Note::None).await
    }

    /// The same before a turn writes to v1, and when it has ended; then it waits until all have heard of it.
    ///
    /// # Errors
    /// As [`Store::bump_epoch`].
    pub async fn bump_epoch_around(&self, project: Uuid, turn: &Noted, ended: bool) -> Result<i64, StoreError> {
        let note = if ended { Note::Ends(turn) } else { Note::Begins(turn) };
        self.raise_epoch(project, Vec::new(), ended, note).await
    }

    async fn raise_epoch(
        &self,
        project: Uuid,
        mut changed: Vec<Changed>,
        heard: bool,
        turn: Note<'_>,
    ) -> Result<i64, StoreError> {
        if self.engine.kind() == Kind::Sqlite {
            return Ok(0);
        }
        changed.push(Changed::Stored(project));
        let (number, note) = self.engine.peers.note(changed);
        let text = format!(
            "WITH raised AS (INSERT INTO project (id, items, epoch) VALUES ($1, 0, 1) \
             ON CONFLICT (id) DO UPDATE SET epoch = project.epoch + 1 RETURNING epoch), {} \
             SELECT epoch, pg_notify($2, $3)::text FROM raised",
            turn.sql()
        );
        let [turn, names] = turn.values();
        let raising = sqlx::query(sql(text))
            .bind(project.to_string())
            .bind(NOTES)
            .bind(note)
            .bind(turn)
            .bind(names)
            .fetch_one(self.engine.pool());
        let row = self.engine.while_there(raising).await?;
        self.changes.tell(Changed::Stored(project));
        if heard {
            self.engine.confirmed(number).await;
        }
        Ok(row.try_get(0)?)
    }
}

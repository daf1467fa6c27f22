//! What gateway processes that share a store tell each other: that a project was written to, and whose turn
//! it is.
//!
//! A SQLite file belongs to one process, so there the turn is taken in this process and nobody else can write.
//! May use: this folder.

use super::Store;
use super::engine::Kind;
use super::error::StoreError;
use sqlx::{Any, Row, Transaction};
use std::collections::HashMap;
use std::sync::{Arc, Mutex as Lock, PoisonError, Weak};
use tokio::sync::{Mutex, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

/// Turns held on the database at once: fewer than connections, because whoever has a turn goes on to read and
/// write.
const HELD: usize = 6;

/// Turns by name, within this process.
#[derive(Debug, Clone)]
pub(super) struct Turns {
    names: Arc<Lock<HashMap<String, Weak<Mutex<()>>>>>,
    connections: Arc<Semaphore>,
}

/// A turn; it ends when this is dropped.
#[must_use = "the turn ends when this is dropped"]
pub struct Turn {
    // Dropped in this order: other processes first, then who waits in this one.
    _held: Option<Transaction<'static, Any>>,
    _connection: Option<OwnedSemaphorePermit>,
    _here: OwnedMutexGuard<()>,
}

impl Turns {
    pub(super) fn new() -> Self {
        Self { names: Arc::default(), connections: Arc::new(Semaphore::new(HELD)) }
    }

    async fn of(&self, name: &str) -> OwnedMutexGuard<()> {
        let mutex = {
            let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
            names.retain(|_, mutex| mutex.strong_count() > 0);
            match names.get(name).and_then(Weak::upgrade) {
                Some(mutex) => mutex,
                None => {
                    let mutex = Arc::default();
                    names.insert(name.to_owned(), Arc::downgrade(&mutex));
                    mutex
                }
            }
        };
        mutex.lock_owned().await
    }
}

impl Store {
    /// Waits until nobody else, in any gateway process, has the turn called `name`.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be used, or another process keeps its turn too long.
    pub async fn advisory(&self, name: &str) -> Result<Turn, StoreError> {
        let here = self.turns.of(name).await;
        if self.engine.kind() == Kind::Sqlite {
            return Ok(Turn { _held: None, _connection: None, _here: here });
        }
        // Closed never, so this waits for one and cannot fail.
        let connection = Arc::clone(&self.turns.connections).acquire_owned().await.ok();
        let mut held = self.engine.pool().begin().await?;
        // As text, because nothing reads the type that says nothing.
        sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))::text")
            .bind(name)
            .fetch_one(&mut *held)
            .await?;
        Ok(Turn { _held: Some(held), _connection: connection, _here: here })
    }

    /// Number of writes to v1 that any gateway process made in the project. Where one process has the store
    /// to itself there is nothing to tell, and it is always 0.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    pub async fn epoch(&self, project: Uuid) -> Result<i64, StoreError> {
        if self.engine.kind() == Kind::Sqlite {
            return Ok(0);
        }
        self.epochs.ask(project, || self.stored_epoch(project)).await
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

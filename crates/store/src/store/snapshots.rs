//! Indices of work items, kept in the database for all gateway processes, and the choice of the building process.
//!
//! The store does not interpret the content of an index: it keeps bytes under a name. The bytes are split into parts,
//! so that no single value is large. Only with PostgreSQL; with a SQLite file there are files beside it.
//!
//! May use: `units`, this folder.

use super::error::StoreError;
use super::opening::connected;
use super::rows::{NewRow, insert, query};
use super::service::Store;
use crate::units::{micros, now_micros};
use sqlx::{AnyConnection, Row};
use std::time::Duration;

/// Number of bytes of a part.
const PART: usize = 1 << 20;
/// Maximum number of bytes of a snapshot; each process builds a larger one itself.
const MOST: usize = 64 << 20;

/// Lock on a task that one process does alone; released when this is dropped or the process has ended.
pub struct ClusterLock {
    // Closing the connection releases the lock.
    _session: AnyConnection,
}

impl Store {
    /// Returns the snapshot of this name, if there is one.
    pub async fn snapshot(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let text = "SELECT bytes FROM index_snapshot WHERE name = $1 ORDER BY part";
        let reading = query(text, &[&name]).fetch_all(self.engine.pool());
        let rows = self.engine.unless_unavailable(reading).await?;
        let mut bytes = Vec::new();
        for row in &rows {
            bytes.extend_from_slice(row.try_get(0)?);
        }
        Ok((!rows.is_empty()).then_some(bytes))
    }

    /// Replaces the snapshot of this name, unless the old one is younger than `age` or the new one is too large.
    pub async fn keep_snapshot(&self, name: &str, bytes: &[u8], age: Duration) -> Result<(), StoreError> {
        if bytes.len() > MOST || self.is_read_only() {
            return Ok(());
        }
        self.engine.unless_unavailable(self.replace_snapshot(name, bytes, age)).await
    }

    async fn replace_snapshot(&self, name: &str, bytes: &[u8], age: Duration) -> Result<(), StoreError> {
        let mut writing = self.engine.writing().await?;
        let before = now_micros() - micros(age);
        // Of two processes that write the same, the second waits here and then finds a young snapshot.
        let lock = "SELECT pg_advisory_xact_lock(hashtextextended($1, 1))::text";
        query(lock, &[&name]).fetch_one(&mut *writing).await?;
        let text = "SELECT 1 FROM index_snapshot WHERE name = $1 AND saved_at > $2 LIMIT 1";
        let young = query(text, &[&name, &before]).fetch_optional(&mut *writing).await?;
        if young.is_some() {
            return writing.rollback().await;
        }
        writing.run(query("DELETE FROM index_snapshot WHERE name = $1", &[&name])).await?;
        for (part, bytes) in (0_i64..).zip(bytes.chunks(PART)) {
            let row: NewRow = &[("name", &name), ("part", &part), ("bytes", &bytes), ("saved_at", &now_micros())];
            writing.run(insert("index_snapshot", row)).await?;
        }
        writing.commit().await
    }

    /// Takes the lock on the task `name`; none while another process has it. The lock has a connection of its own,
    /// because the task may take minutes.
    pub async fn try_cluster_lock(&self, name: &str) -> Result<Option<ClusterLock>, StoreError> {
        let Some(target) = self.engine.target()? else { return Ok(None) };
        let mut session = self.engine.unless_unavailable(connected(self.engine.kind(), &target)).await?;
        let text = "SELECT CASE WHEN pg_try_advisory_lock(hashtextextended($1, 2)) THEN 1 ELSE 0 END";
        let taking = query(text, &[&name]).fetch_one(&mut session);
        let row = self.engine.unless_unavailable(taking).await?;
        let taken: i32 = row.try_get(0)?;
        Ok((taken == 1).then_some(ClusterLock { _session: session }))
    }
}

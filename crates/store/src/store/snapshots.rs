//! Indices of work items, kept in the database for all gateway processes, and which process builds one.
//!
//! The content of an index does not concern the store: it keeps bytes under a name. They lie in parts, so that no
//! single value is large. Only with PostgreSQL; beside a SQLite file there are files.
//!
//! May use: `units`, this folder.

use super::error::StoreError;
use super::opening::connected;
use super::rows::{NewRow, insert, query};
use super::service::Store;
use crate::units::{micros, now_micros};
use sqlx::{AnyConnection, Row};
use std::time::Duration;

/// Bytes of a part.
const PART: usize = 1 << 20;
/// Most bytes of a snapshot; a larger one is built by each process.
const MOST: usize = 64 << 20;

/// Something that one process does alone; others may when this is dropped or the process has ended.
pub struct AloneAmongAll {
    // Closing it ends the lock.
    _session: AnyConnection,
}

impl Store {
    /// The snapshot of this name; none when there is none.
    pub async fn snapshot(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let text = "SELECT bytes FROM index_snapshot WHERE name = $1 ORDER BY part";
        let reading = query(text, &[&name]).fetch_all(self.engine.pool());
        let rows = self.engine.while_there(reading).await?;
        let mut bytes = Vec::new();
        for row in &rows {
            bytes.extend_from_slice(row.try_get(0)?);
        }
        Ok((!rows.is_empty()).then_some(bytes))
    }

    /// Keeps a snapshot in place of the one of this name, unless that one is younger than `age`, or this is too large.
    pub async fn keep_snapshot(&self, name: &str, bytes: &[u8], age: Duration) -> Result<(), StoreError> {
        if bytes.len() > MOST || self.is_read_only() {
            return Ok(());
        }
        let mut writing = self.engine.writing().await?;
        let before = now_micros() - micros(age);
        // Of two that write the same, the second waits here and then finds a young one.
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

    /// Takes this process for the one that does what `name` names; none while another one does it. It has a connection
    /// of its own, because it may take minutes.
    pub async fn alone_among_all(&self, name: &str) -> Result<Option<AloneAmongAll>, StoreError> {
        let Some(target) = self.engine.target()? else { return Ok(None) };
        let mut session = self.engine.while_there(connected(self.engine.kind(), &target)).await?;
        let text = "SELECT CASE WHEN pg_try_advisory_lock(hashtextextended($1, 2)) THEN 1 ELSE 0 END";
        let taking = query(text, &[&name]).fetch_one(&mut session);
        let row = self.engine.while_there(taking).await?;
        let taken: i32 = row.try_get(0)?;
        Ok((taken == 1).then_some(AloneAmongAll { _session: session }))
    }
}

//! Counts of calls by caller and operation, by day, of all processes together.
//!
//! May use: `units`, this folder.

pub(super) mod bound;
pub(super) mod callers;

use super::engine::Writing;
use super::error::StoreError;
use super::rows::{all, at_once, cells, placeholder_rows, query, read_from_its_columns, sql, with_cells};
use super::service::Store;
use crate::units::now_micros;
use uuid::Uuid;

/// Caller and client of the rows that were added up to make room.
pub const OTHER: &str = "other";

/// One count.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UsageRow {
    /// Days since 1970 UTC.
    pub day: i64,
    /// Name of the operation of v1 or v2.
    pub operation: String,
    /// First digit of the status.
    pub class: i64,
    /// Fingerprint of the credential.
    pub caller: String,
    /// Product and version of the User-Agent.
    pub client: String,
    /// Number of calls.
    pub calls: i64,
}

read_from_its_columns!(UsageRow: day, operation, class, caller, client, calls);

impl Store {
    /// Adds counts. A batch that this process has already added is not added again.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written; then it is unknown whether the batch was added.
    pub async fn add_usage(&self, process: Uuid, batch: i64, rows: &[UsageRow]) -> Result<(), StoreError> {
        let mut writing = self.engine.writing().await?;
        if !writing.is_next_batch(process, batch).await? {
            return writing.rollback().await;
        }
        // One order everywhere, so that two processes do not wait for each other (deadlock).
        let mut rows = rows.to_vec();
        rows.sort_unstable();
        add(&mut writing, &rows).await?;
        writing.commit().await
    }

    /// Returns all counts.
    pub async fn usage(&self) -> Result<Vec<UsageRow>, StoreError> {
        let columns = UsageRow::COLUMNS;
        let text = format!("SELECT {columns} FROM usage_count ORDER BY 1, 2, 3, 4, 5");
        all(self.engine.pool(), query(sql(text), &[]), UsageRow::read).await
    }
}

impl Writing {
    /// Checks whether this batch of the process has not been added yet, and marks it as added.
    pub(super) async fn is_next_batch(&mut self, process: Uuid, batch: i64) -> Result<bool, StoreError> {
        let text = "INSERT INTO usage_writer (process, batch, seen_at) VALUES ($1, $2, $3) ON CONFLICT (process) \
                    DO UPDATE SET batch = excluded.batch, seen_at = excluded.seen_at \
                    WHERE usage_writer.batch < excluded.batch";
        Ok(self.run(query(text, &[&process, &batch, &now_micros()])).await? > 0)
    }
}

async fn add(writing: &mut Writing, rows: &[UsageRow]) -> Result<(), StoreError> {
    let columns = UsageRow::COLUMNS;
    for rows in at_once(rows) {
        let text = format!(
            "INSERT INTO usage_count ({columns}) VALUES {} ON CONFLICT (day, operation, class, caller, client) \
             DO UPDATE SET calls = usage_count.calls + excluded.calls",
            placeholder_rows(rows.len(), 6)
        );
        let cells = rows
            .iter()
            .flat_map(|row| cells([&row.day, &row.operation, &row.class, &row.caller, &row.client, &row.calls]));
        writing.run(with_cells(sql(text), cells)).await?;
    }
    Ok(())
}

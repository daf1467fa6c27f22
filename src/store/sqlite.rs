//! The store in one SQLite file: all SQL of that kind of store.
//!
//! Write-ahead log, so that readers do not wait for the writer; `synchronous=FULL`, so that what was
//! answered survives a power cut. Writers take the lock when they begin (`BEGIN IMMEDIATE`), because a
//! transaction that first reads and then wants to write is refused at once instead of waiting its turn.
//! May use: this folder.

use super::error::StoreError;
use super::{OverlayValue, Overlays};
use serde_json::Value;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteRow, SqliteSynchronous,
};
use sqlx::{Row, Sqlite, Transaction};
use std::fs::OpenOptions;
use std::path::Path;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use uuid::Uuid;

static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("src/store/migrations/sqlite");

/// How long a writer waits for another one.
const BUSY: Duration = Duration::from_secs(5);
const CONNECTIONS: u32 = 4;

/// A SQLite store.
#[derive(Debug, Clone)]
pub(super) struct SqliteStore {
    pool: SqlitePool,
}

impl SqliteStore {
    /// Opens the file, creating it and its tables when they are not there yet.
    pub(super) async fn open(url: &str) -> Result<Self, StoreError> {
        let options = SqliteConnectOptions::from_str(url)?
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(BUSY);
        if !in_memory(url) {
            keep_private(options.get_filename());
        }
        let pool = pool_options(url).connect_with(options).await?;
        MIGRATIONS.run(&pool).await?;
        Ok(Self { pool })
    }

    /// Records the deployment on first use; returns the one recorded.
    pub(super) async fn claim(&self, v1_base_url: &str) -> Result<String, StoreError> {
        // A look first: a store that is already claimed must also open when it is read-only.
        if let Some(recorded) = self.recorded().await? {
            return Ok(recorded);
        }
        sqlx::query("INSERT INTO service (id, v1_base_url, recorded_at) VALUES (1, ?, ?) ON CONFLICT DO NOTHING")
            .bind(v1_base_url)
            .bind(now())
            .execute(&self.pool)
            .await?;
        self.recorded().await?.ok_or_else(|| StoreError::Internal("the claim of the store is not there".into()))
    }

    async fn recorded(&self) -> Result<Option<String>, StoreError> {
        let row = sqlx::query("SELECT v1_base_url FROM service WHERE id = 1").fetch_optional(&self.pool).await?;
        Ok(row.map(|row| row.try_get(0)).transpose()?)
    }

    pub(super) async fn overlay_of(&self, workspace: Uuid, kind: &str) -> Result<Overlays, StoreError> {
        let rows = sqlx::query(
            "SELECT record_id, field, value, seen FROM overlay WHERE workspace_id = ? AND kind = ? \
             ORDER BY record_id, field",
        )
        .bind(workspace.to_string())
        .bind(kind)
        .fetch_all(&self.pool)
        .await?;
        overlays(&rows)
    }

    pub(super) async fn overlay_of_records(
        &self,
        workspace: Uuid,
        kind: &str,
        records: &[Uuid],
    ) -> Result<Overlays, StoreError> {
        let rows = sqlx::query(
            "SELECT record_id, field, value, seen FROM overlay WHERE workspace_id = ? AND kind = ? \
             AND record_id IN (SELECT value FROM json_each(?)) ORDER BY record_id, field",
        )
        .bind(workspace.to_string())
        .bind(kind)
        .bind(json_list(records.iter().map(Uuid::to_string)))
        .fetch_all(&self.pool)
        .await?;
        overlays(&rows)
    }

    pub(super) async fn put_overlay(
        &self,
        workspace: Uuid,
        kind: &str,
        record: Uuid,
        fields: &[OverlayValue],
    ) -> Result<(), StoreError> {
        let mut writing = self.begin().await?;
        for field in fields {
            sqlx::query(
                "INSERT INTO overlay (workspace_id, kind, record_id, field, value, seen, written_at) \
                 VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (workspace_id, kind, record_id, field) DO UPDATE \
                 SET value = excluded.value, seen = excluded.seen, written_at = excluded.written_at",
            )
            .bind(workspace.to_string())
            .bind(kind)
            .bind(record.to_string())
            .bind(&field.field)
            .bind(field.value.to_string())
            .bind(field.seen.to_string())
            .bind(now())
            .execute(&mut *writing)
            .await?;
        }
        Ok(writing.commit().await?)
    }

    pub(super) async fn delete_overlay(&self, workspace: Uuid, kind: &str, record: Uuid) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM overlay WHERE workspace_id = ? AND kind = ? AND record_id = ?")
            .bind(workspace.to_string())
            .bind(kind)
            .bind(record.to_string())
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    pub(super) async fn delete_overlay_fields(
        &self,
        workspace: Uuid,
        kind: &str,
        record: Uuid,
        fields: &[&str],
    ) -> Result<(), StoreError> {
        sqlx::query(
            "DELETE FROM overlay WHERE workspace_id = ? AND kind = ? AND record_id = ? \
             AND field IN (SELECT value FROM json_each(?))",
        )
        .bind(workspace.to_string())
        .bind(kind)
        .bind(record.to_string())
        .bind(json_list(fields.iter().map(ToString::to_string)))
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    pub(super) async fn check(&self) -> Result<(), StoreError> {
        let row = sqlx::query("PRAGMA integrity_check(10)").fetch_one(&self.pool).await?;
        let found: String = row.try_get(0)?;
        if found == "ok" { Ok(()) } else { Err(StoreError::Damaged(found)) }
    }

    pub(super) async fn close(&self) {
        self.pool.close().await;
    }

    async fn begin(&self) -> Result<Transaction<'static, Sqlite>, StoreError> {
        Ok(self.pool.begin_with("BEGIN IMMEDIATE").await?)
    }
}

/// Creates a missing file for the owner's eyes only; SQLite gives its side files the same rights. If that
/// fails, opening the store fails too and says why.
fn keep_private(file: &Path) {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let _ = options.open(file);
}

fn in_memory(url: &str) -> bool {
    url.contains(":memory:") || url.contains("mode=memory")
}

/// A store in memory lives in its connection: one, and never closed.
fn pool_options(url: &str) -> SqlitePoolOptions {
    let options = SqlitePoolOptions::new().acquire_timeout(BUSY);
    if in_memory(url) {
        options.max_connections(1).min_connections(1).idle_timeout(None).max_lifetime(None)
    } else {
        options.max_connections(CONNECTIONS)
    }
}

fn overlays(rows: &[SqliteRow]) -> Result<Overlays, StoreError> {
    let mut found = Overlays::new();
    for row in rows {
        let record: &str = row.try_get(0)?;
        let record = Uuid::parse_str(record).map_err(|_| unreadable("record_id", record))?;
        let value = OverlayValue { field: row.try_get(1)?, value: json(row, 2)?, seen: json(row, 3)? };
        found.entry(record).or_default().push(value);
    }
    Ok(found)
}

fn json(row: &SqliteRow, column: usize) -> Result<Value, StoreError> {
    let text: &str = row.try_get(column)?;
    serde_json::from_str(text).map_err(|_| unreadable("overlay value", text))
}

fn unreadable(what: &str, text: &str) -> StoreError {
    StoreError::Damaged(format!("{what} {text:?} cannot be read"))
}

/// A list as one parameter, for `json_each`.
fn json_list(items: impl Iterator<Item = String>) -> String {
    Value::from_iter(items).to_string()
}

/// Microseconds since 1970.
fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64)
}

//! Emptying the store before an import, and the numbers that must continue from their old values.
//!
//! May use: this folder.

use super::engine::Kind;
use super::error::StoreError;
use super::rows::{all, query, sql};
use super::session::Session;
use super::tables::TABLES;
use sqlx::Row;

/// Empties all tables. Triggers forbid deleting rows of the audit log, so the triggers are off meanwhile.
pub(super) async fn clear(writing: &mut Session, kind: Kind) -> Result<(), StoreError> {
    let mut guards: Vec<(String, String)> = Vec::new();
    match kind {
        Kind::Sqlite => {
            let reading = query("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'", &[]);
            guards = all(&mut *writing, reading, |cells| Ok((cells.next()?, cells.next()?))).await?;
        }
        Kind::Postgres => run(writing, "ALTER TABLE audit_log DISABLE TRIGGER USER").await?,
    }
    for (name, _) in &guards {
        run(writing, &format!("DROP TRIGGER {name}")).await?;
    }
    for table in TABLES.iter().rev() {
        run(writing, &format!("DELETE FROM {table}")).await?;
    }
    for (_, text) in &guards {
        run(writing, text).await?;
    }
    if kind == Kind::Postgres {
        run(writing, "ALTER TABLE audit_log ENABLE TRIGGER USER").await?;
    }
    Ok(())
}

/// Counters by which gateway processes notice changes. After a restore all are higher than any before, so that no cache
/// entry from before the restore counts as current.
pub(super) struct Growing {
    version: i64,
    items: i64,
    epoch: i64,
}

impl Growing {
    pub(super) async fn of(writing: &mut Session) -> Result<Self, StoreError> {
        let row = sqlx::query(
            "SELECT COALESCE((SELECT MAX(version) FROM workspace), 0), \
             COALESCE((SELECT MAX(items) FROM project), 0), COALESCE((SELECT MAX(epoch) FROM project), 0)",
        )
        .fetch_one(writing)
        .await?;
        Ok(Self { version: row.try_get(0)?, items: row.try_get(1)?, epoch: row.try_get(2)? })
    }

    pub(super) async fn surpass(&self, writing: &mut Session) -> Result<(), StoreError> {
        let text = "UPDATE workspace SET version = version + $1 WHERE $1 > 0";
        writing.run(query(text, &[&self.version])).await?;
        let text = "UPDATE project SET items = items + $1, epoch = epoch + $2";
        writing.run(query(text, &[&self.items, &self.epoch])).await.map(drop)
    }
}

pub(super) async fn run(writing: &mut Session, text: &str) -> Result<(), StoreError> {
    writing.run(query(sql(text.to_owned()), &[])).await.map(drop)
}

//! The parts of v1's quota that gateway processes hold, in the database.
//!
//! The store does not interpret the content of a row. A row is written only as the next version of the one that was
//! read. Rows that another process is just writing are skipped, so that no process waits. Only with PostgreSQL.
//!
//! May use: `v1` (what is exchanged), this folder.

use super::error::StoreError;
use super::peers::DATABASE_NOW;
use super::rows::{Cells, query, sql};
use super::service::Store;
use crate::v1::{PartsChange, PartsSeen};

/// Age in microseconds from which an unwritten row belongs to no process.
const OLD: i64 = 15 * 60 * 1_000_000;

impl Store {
    /// Writes those `changes` whose version is still the one in the database, and removes rows that were not written
    /// for a quarter of an hour. Reads the rows named in `changes`, and the rows that name this process and were
    /// written after `since`. The rows are returned as they were before this call.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not respond; then it is unknown which rows were written.
    pub async fn exchange_parts(&self, changes: &[PartsChange], since: i64) -> Result<PartsSeen, StoreError> {
        let text = format!(
            "WITH given AS (SELECT * FROM jsonb_to_recordset($1::jsonb) AS g(name text, version bigint, parts text)), \
             free AS (SELECT q.name FROM quota_part q JOIN given g ON g.name = q.name AND g.version = q.version \
               ORDER BY q.name FOR UPDATE OF q SKIP LOCKED), \
             old AS (SELECT name FROM quota_part WHERE written_at < {DATABASE_NOW} - {OLD} \
               AND name NOT IN (SELECT name FROM given) ORDER BY name FOR UPDATE SKIP LOCKED), \
             gone AS (DELETE FROM quota_part WHERE name IN (SELECT name FROM old)), \
             changed AS (UPDATE quota_part q SET parts = g.parts, version = q.version + 1, written_at = {DATABASE_NOW} \
               FROM given g WHERE g.name = q.name AND q.name IN (SELECT name FROM free) RETURNING q.name, q.version), \
             added AS (INSERT INTO quota_part (name, version, parts, written_at) \
               SELECT name, {DATABASE_NOW}, parts, {DATABASE_NOW} FROM given WHERE version = 0 ORDER BY name \
               ON CONFLICT (name) DO NOTHING RETURNING name, version) \
             SELECT name, version, NULL::text, {DATABASE_NOW} FROM changed \
             UNION ALL SELECT name, version, NULL::text, {DATABASE_NOW} FROM added \
             UNION ALL SELECT name, version, parts, {DATABASE_NOW} FROM quota_part \
               WHERE name IN (SELECT name FROM given) OR (written_at > $2 AND strpos(parts, $3) > 0) \
             UNION ALL SELECT '', 0, NULL::text, {DATABASE_NOW}"
        );
        let given = serde_json::to_string(changes).unwrap_or_default();
        let asking = query(sql(text), &[&given, &since, &self.me()]);
        let row = |cells: &mut Cells<'_>| Ok((cells.next()?, cells.next()?, cells.next()?, cells.next()?));
        let rows: Vec<(String, i64, Option<String>, i64)> = self.engine.rows(asking, row).await?;
        let mut seen = PartsSeen::default();
        for (name, version, parts, now) in rows {
            seen.now = now;
            match parts {
                Some(text) => seen.rows.push((name, version, text)),
                // The row that only has the time.
                None if name.is_empty() => {}
                None => seen.written.push((name, version)),
            }
        }
        Ok(seen)
    }
}

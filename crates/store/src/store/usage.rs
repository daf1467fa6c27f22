//! Counts of who calls which operation, by day, of all processes together.
//!
//! May use: `units`, this folder.

use super::engine::Writing;
use super::error::StoreError;
use super::rows::{all, at_once, cells, query, read_from_its_columns, rows_of_places, sql, value, with_cells};
use super::service::Store;
use crate::units::now_micros;
use sqlx::Row;
use uuid::Uuid;

/// What rows that had to make room are added up under.
pub const OTHER: &str = "other";
/// How long it is remembered which batch a process has written last, in microseconds.
const WRITERS_KEPT: i64 = 86_400 * 1_000_000;
/// How long a caller is remembered of whom nothing is counted, in microseconds: the first request may still be under way.
const CALLERS_KEPT: i64 = 3600 * 1_000_000;

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
    /// How many.
    pub calls: i64,
}

read_from_its_columns!(UsageRow: day, operation, class, caller, client, calls);

/// Who is behind a fingerprint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageCaller {
    /// The fingerprint.
    pub fingerprint: String,
    /// Kind of credential.
    pub kind: String,
    /// The person, as v1 calls them.
    pub person: String,
    /// Title of the key, or name of the app.
    pub title: String,
    /// Grant or gateway key that has the title; only when it is written.
    pub credential: Option<Uuid>,
}

/// What making room for new counts took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UsageBound {
    /// Rows of days that are kept no longer.
    pub old: u64,
    /// Least used rows, added up under `other`.
    pub folded: u64,
    /// Rows that had to go altogether, and the calls they counted.
    pub dropped: u64,
}

impl Store {
    /// What fingerprints are made with, made on first use: 64 hexadecimal digits.
    pub async fn usage_secret(&self) -> Result<String, StoreError> {
        let reading = || query("SELECT secret FROM usage_secret WHERE id = 1", &[]);
        let read = || value(self.engine.pool(), reading());
        if let Some(secret) = read().await? {
            return Ok(secret);
        }
        let made = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        let text = "INSERT INTO usage_secret (id, secret) VALUES (1, $1) ON CONFLICT DO NOTHING";
        self.engine.write(query(text, &[&made])).await?;
        read().await?.ok_or_else(|| StoreError::Internal("the secret of the counts is not there".into()))
    }

    /// Adds counts. A batch that this process has added before is not added again.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written; whether the batch was added is not known then.
    pub async fn add_usage(&self, process: Uuid, batch: i64, rows: &[UsageRow]) -> Result<(), StoreError> {
        let mut writing = self.engine.writing().await?;
        if !writing.is_next_batch(process, batch).await? {
            return writing.rollback().await;
        }
        // In one order everywhere, so that two processes do not wait for each other in a circle.
        let mut rows = rows.to_vec();
        rows.sort_unstable();
        add(&mut writing, &rows).await?;
        writing.commit().await
    }

    /// Notes who is behind fingerprints; titles of keys and names of apps are looked up here.
    pub async fn name_usage_callers(&self, callers: &[UsageCaller]) -> Result<(), StoreError> {
        let mut writing = self.engine.writing().await?;
        for caller in callers {
            let mut title = caller.title.clone();
            if let Some(credential) = caller.credential {
                let text = "SELECT name FROM oauth_client WHERE id = (SELECT client_id FROM oauth_grant \
                            WHERE id = $1) UNION ALL SELECT title FROM gateway_key WHERE id = $1";
                title = value(&mut *writing, query(text, &[&credential])).await?.unwrap_or(title);
            }
            let text = "INSERT INTO usage_caller (fingerprint, kind, person, title, seen_at) \
                        VALUES ($1, $2, $3, $4, $5) ON CONFLICT (fingerprint) \
                        DO UPDATE SET kind = excluded.kind, person = excluded.person, title = excluded.title, \
                        seen_at = excluded.seen_at";
            writing
                .run(query(text, &[&caller.fingerprint, &caller.kind, &caller.person, &title, &now_micros()]))
                .await?;
        }
        writing.commit().await
    }

    /// Counts from `since` (days since 1970) on.
    pub async fn usage(&self, since: i64) -> Result<Vec<UsageRow>, StoreError> {
        let columns = UsageRow::COLUMNS;
        let text = format!("SELECT {columns} FROM usage_count WHERE day >= $1 ORDER BY 1, 2, 3, 4, 5");
        all(self.engine.pool(), query(sql(text), &[&since]), UsageRow::read).await
    }

    /// Who is behind the fingerprints, as far as that is known.
    pub async fn usage_callers(&self) -> Result<Vec<UsageCaller>, StoreError> {
        let text = "SELECT fingerprint, kind, person, title FROM usage_caller ORDER BY 1";
        all(self.engine.pool(), query(text, &[]), |cells| {
            Ok(UsageCaller {
                fingerprint: cells.next()?,
                kind: cells.next()?,
                person: cells.next()?,
                title: cells.next()?,
                credential: None,
            })
        })
        .await
    }

    /// Forgets days before `oldest`, and makes the table at most `most` rows long: the least used rows are added up
    /// under `other`, day by day and operation by operation, so that sums stay; rows that are too many even then go.
    pub async fn bound_usage(&self, oldest: i64, most: i64) -> Result<UsageBound, StoreError> {
        let mut writing = self.engine.writing().await?;
        let old = writing.run(query("DELETE FROM usage_count WHERE day < $1", &[&oldest])).await?;
        let mut bound = UsageBound { old, ..UsageBound::default() };
        let text = "DELETE FROM usage_writer WHERE seen_at < $1";
        writing.run(query(text, &[&(now_micros() - WRITERS_KEPT)])).await?;
        let text = "DELETE FROM usage_caller WHERE seen_at < $1 AND fingerprint IN (SELECT fingerprint \
                    FROM usage_caller EXCEPT SELECT caller FROM usage_count)";
        writing.run(query(text, &[&(now_micros() - CALLERS_KEPT)])).await?;
        let too_many = count(&mut writing).await? - most;
        let columns = UsageRow::COLUMNS;
        if too_many > 0 {
            // A tenth more, so that not every batch makes room anew.
            let text = format!(
                "SELECT {columns} FROM usage_count WHERE caller <> '{OTHER}' ORDER BY calls, day, operation, class, \
                 caller, client LIMIT $1"
            );
            let least = query(sql(text), &[&(too_many + most / 10)]);
            let mut rows: Vec<UsageRow> = all(&mut *writing, least, UsageRow::read).await?;
            for row in &rows {
                remove(&mut writing, row).await?;
            }
            bound.folded = rows.len() as u64;
            for row in &mut rows {
                row.caller = OTHER.into();
                row.client = OTHER.into();
            }
            rows.sort_unstable();
            rows.dedup_by(|next, kept| {
                let same = (next.day, &next.operation, next.class) == (kept.day, &kept.operation, kept.class);
                kept.calls += if same { next.calls } else { 0 };
                same
            });
            add(&mut writing, &rows).await?;
            let still = count(&mut writing).await? - most;
            if still > 0 {
                let text =
                    format!("SELECT {columns} FROM usage_count ORDER BY day, calls, operation, class LIMIT $1");
                let rows: Vec<_> = all(&mut *writing, query(sql(text), &[&still]), UsageRow::read).await?;
                for row in &rows {
                    remove(&mut writing, row).await?;
                }
                bound.dropped = rows.len() as u64;
            }
        }
        writing.commit().await?;
        Ok(bound)
    }
}

impl Writing {
    /// Whether this batch of the process has not been added yet; then it counts as added.
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
            rows_of_places(rows.len(), 6)
        );
        let cells = rows
            .iter()
            .flat_map(|row| cells([&row.day, &row.operation, &row.class, &row.caller, &row.client, &row.calls]));
        writing.run(with_cells(sql(text), cells)).await?;
    }
    Ok(())
}

async fn remove(writing: &mut Writing, row: &UsageRow) -> Result<(), StoreError> {
    let text = "DELETE FROM usage_count WHERE day = $1 AND operation = $2 AND class = $3 AND caller = $4 \
                AND client = $5";
    writing.run(query(text, &[&row.day, &row.operation, &row.class, &row.caller, &row.client])).await.map(drop)
}

async fn count(writing: &mut Writing) -> Result<i64, StoreError> {
    Ok(sqlx::query("SELECT COUNT(*) FROM usage_count").fetch_one(&mut **writing).await?.try_get(0)?)
}

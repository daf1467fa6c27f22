//! Room for new counts: old days are removed, and the least used rows are added up.
//!
//! May use: `units`, this folder.

use super::super::engine::Writing;
use super::super::error::StoreError;
use super::super::rows::{all, query, sql};
use super::super::service::Store;
use super::{OTHER, UsageRow, add};
use crate::units::now_micros;
use sqlx::Row;

/// Time for which the last batch of a process is remembered, in microseconds.
const WRITERS_KEPT: i64 = 86_400 * 1_000_000;
/// Time for which a caller without counts is remembered, in microseconds: the first request may still be in flight.
const CALLERS_KEPT: i64 = 3600 * 1_000_000;

/// Numbers of rows that were removed to make room for new counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UsageBound {
    /// Rows of days that are no longer kept.
    pub old: u64,
    /// Least used rows, added up under `other`.
    pub folded: u64,
    /// Rows that had to be removed completely.
    pub dropped: u64,
    /// Calls that these rows counted; they are lost.
    pub lost_calls: i64,
}

impl Store {
    /// Removes days before `oldest`, and reduces the table to at most `most` rows. The least used rows are added up
    /// under `other`, by day, operation and class, so that sums stay. When rows are still too many, the oldest days are
    /// removed, so that the counts since the first day left are complete. The newest day may lose a part of its rows.
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
        if too_many > 0 {
            // A tenth more, so that not every batch must make room again.
            let least = format!("caller <> '{OTHER}' ORDER BY calls, day, operation, class, caller, client");
            let mut rows = take(&mut writing, &least, too_many + most / 10).await?;
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
                let mut rows = take(&mut writing, "1 = 1 ORDER BY day, calls, operation, class", still).await?;
                if let Some(day) = rows.iter().map(|row| row.day).max() {
                    let rest = format!("day <= {day} AND {day} < (SELECT MAX(day) FROM usage_count)");
                    rows.extend(take(&mut writing, &rest, i64::MAX).await?);
                }
                bound.dropped = rows.len() as u64;
                bound.lost_calls = rows.iter().map(|row| row.calls).sum();
            }
        }
        writing.commit().await?;
        Ok(bound)
    }
}

/// Deletes and returns the first `most` rows that satisfy `which`, by one statement: other writers wait for its end.
async fn take(writing: &mut Writing, which: &str, most: i64) -> Result<Vec<UsageRow>, StoreError> {
    let key = "day, operation, class, caller, client";
    let text = format!(
        "DELETE FROM usage_count WHERE ({key}) IN (SELECT {key} FROM usage_count WHERE {which} LIMIT $1) RETURNING {}",
        UsageRow::COLUMNS
    );
    all(&mut **writing, query(sql(text), &[&most]), UsageRow::read).await
}

async fn count(writing: &mut Writing) -> Result<i64, StoreError> {
    Ok(sqlx::query("SELECT COUNT(*) FROM usage_count").fetch_one(&mut **writing).await?.try_get(0)?)
}

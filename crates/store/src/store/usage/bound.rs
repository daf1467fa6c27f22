//! Room for new counts: old days go, and what is used least is added up.
//!
//! May use: `units`, this folder.

use super::super::engine::Writing;
use super::super::error::StoreError;
use super::super::rows::{all, query, sql};
use super::super::service::Store;
use super::{OTHER, UsageRow, add};
use crate::units::now_micros;
use sqlx::Row;

/// How long it is remembered which batch a process has written last, in microseconds.
const WRITERS_KEPT: i64 = 86_400 * 1_000_000;
/// How long a caller is remembered of whom nothing is counted, in microseconds: the first request may still be under way.
const CALLERS_KEPT: i64 = 3600 * 1_000_000;

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
        if too_many > 0 {
            // A tenth more, so that not every batch makes room anew.
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
                let rows = take(&mut writing, "1 = 1 ORDER BY day, calls, operation, class", still).await?;
                bound.dropped = rows.len() as u64;
            }
        }
        writing.commit().await?;
        Ok(bound)
    }
}

/// Takes the first `most` rows that satisfy `which` out of the table, by one statement: others wait for its end.
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

//! Results of comparing answers with those of the deployment's own v2, of all processes together.
//!
//! May use: `units`, this folder.

use super::engine::Writing;
use super::error::StoreError;
use super::rows::{all, query, read_from_its_columns, sql};
use super::service::Store;
use crate::units::now_micros;
use uuid::Uuid;

/// Microseconds of a day.
const DAY: i64 = 86_400 * 1_000_000;

/// A count of comparisons.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShadowCount {
    /// Days since 1970 UTC.
    pub day: i64,
    /// The operation.
    pub operation: String,
    /// Result: `equal`, `different`, `not_comparable`, `dropped` or `failed`.
    pub outcome: String,
    /// Number of requests.
    pub requests: i64,
}

/// A difference that was found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShadowDifference {
    /// The operation.
    pub operation: String,
    /// Place of the difference: a JSON pointer into the body, `status`, or `header` and its name.
    pub place: String,
    /// Value in the gateway's answer.
    pub ours: String,
    /// Value in the other side's answer.
    pub theirs: String,
    /// Number of requests.
    pub requests: i64,
    /// Time when it was first seen, in microseconds since 1970.
    pub first_at: i64,
    /// Time when it was last seen.
    pub last_at: i64,
}

read_from_its_columns!(ShadowCount: day, operation, outcome, requests);
read_from_its_columns!(ShadowDifference: operation, place, ours, theirs, requests, first_at, last_at);

impl Store {
    /// Adds counts and differences. A batch that this process has already added is not added again. At most `keep`
    /// rows of differences stay, those seen last; counts of `days` days stay, today included.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written; then it is unknown whether the batch was added.
    pub async fn add_shadow(
        &self,
        (process, batch): (Uuid, i64),
        counts: &[ShadowCount],
        differences: &[ShadowDifference],
        (keep, days): (i64, i64),
    ) -> Result<(), StoreError> {
        let mut writing = self.engine.writing().await?;
        if !writing.is_next_batch(process, batch).await? {
            return writing.rollback().await;
        }
        // One order everywhere, so that two processes do not wait for each other (deadlock).
        let (mut counts, mut differences) = (counts.to_vec(), differences.to_vec());
        counts.sort_unstable();
        differences.sort_unstable();
        for count in counts {
            let text = "INSERT INTO shadow_count (day, operation, outcome, requests) VALUES ($1, $2, $3, $4) \
                        ON CONFLICT (day, operation, \
                        outcome) DO UPDATE SET requests = shadow_count.requests + excluded.requests";
            writing.run(query(text, &[&count.day, &count.operation, &count.outcome, &count.requests])).await?;
        }
        for difference in differences {
            add(&mut writing, difference).await?;
        }
        let text = "DELETE FROM shadow_count WHERE day <= $1";
        writing.run(query(text, &[&(now_micros() / DAY - days)])).await?;
        let text = "DELETE FROM shadow_difference WHERE (operation, place, ours, theirs) IN \
                    (SELECT operation, place, ours, theirs FROM shadow_difference \
                    ORDER BY last_at DESC, operation, place, ours, theirs LIMIT 100000 OFFSET $1)";
        writing.run(query(text, &[&keep])).await?;
        writing.commit().await
    }

    /// Returns all counts.
    pub async fn shadow_counts(&self) -> Result<Vec<ShadowCount>, StoreError> {
        let columns = ShadowCount::COLUMNS;
        let text = format!("SELECT {columns} FROM shadow_count ORDER BY 1, 2, 3");
        all(self.engine.pool(), query(sql(text), &[]), ShadowCount::read).await
    }

    /// Returns the differences that are kept; the last seen come first.
    pub async fn shadow_differences(&self) -> Result<Vec<ShadowDifference>, StoreError> {
        let columns = ShadowDifference::COLUMNS;
        let text = format!("SELECT {columns} FROM shadow_difference ORDER BY last_at DESC, 1, 2, 3, 4");
        all(self.engine.pool(), query(sql(text), &[]), ShadowDifference::read).await
    }

    /// Removes all counts and differences, so that a new comparison begins.
    pub async fn clear_shadow(&self) -> Result<(), StoreError> {
        let mut writing = self.engine.writing().await?;
        writing.run(query("DELETE FROM shadow_count", &[])).await?;
        writing.run(query("DELETE FROM shadow_difference", &[])).await?;
        writing.commit().await
    }
}

async fn add(writing: &mut Writing, difference: ShadowDifference) -> Result<(), StoreError> {
    let text = "INSERT INTO shadow_difference (operation, place, ours, theirs, requests, first_at, last_at) \
                VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (operation, place, ours, theirs) \
                DO UPDATE SET requests = shadow_difference.requests + excluded.requests, \
                last_at = excluded.last_at";
    let ShadowDifference { operation, place, ours, theirs, requests, first_at, last_at } = difference;
    writing.run(query(text, &[&operation, &place, &ours, &theirs, &requests, &first_at, &last_at])).await.map(drop)
}

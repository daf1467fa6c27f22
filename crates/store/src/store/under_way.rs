//! Writes in progress at v1, so that the writes that a dying process leaves behind are known.
//!
//! v1 loads a row, changes it and saves all of it, and continues when its caller is gone. The locks of a process that
//! dies are free at once. So the next writer could change the same row while v1 is still working for the dead process,
//! and then v1 would save the row with old values. So each turn records its exclusive names before it writes, and
//! removes the records when it has ended. A turn that finds a record of another turn on a name that it now holds waits
//! until v1 has certainly ended that write. The same holds for a living process whose write got no answer from v1: it
//! gives up its locks and leaves the records until v1 has ended the write. Only with PostgreSQL: a process that has a
//! SQLite file to itself leaves it to no process that is already running.
//!
//! May use: `peers` (the clock), this folder.

use super::error::StoreError;
use super::peers::DATABASE_NOW;
use super::rows::{query, sql, value};
use super::service::Store;
use super::session::Session;
use std::time::Duration;
use uuid::Uuid;

/// Time in which v1 ends the write that it is carrying out, also when it is busy.
pub const AT_WORK: Duration = Duration::from_secs(3);
/// Age in microseconds from which a record belongs to no turn.
const OLD: i64 = 24 * 60 * 60 * 1_000_000;

/// The names that a turn holds exclusively.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HeldNames {
    pub(super) turn: Uuid,
    /// The names as a JSON list, because all drivers support text.
    pub(super) names: String,
}

/// Builds the statement that records the names of a turn; both arguments are placeholders for its values.
pub(super) fn begins(turn: &str, names: &str) -> String {
    format!(
        "INSERT INTO write_under_way (name, turn, begun_at) \
         SELECT jsonb_array_elements_text({names}::jsonb), {turn}::text, {DATABASE_NOW} ON CONFLICT DO NOTHING"
    )
}

/// Builds the statement that removes all records of a turn.
pub(super) fn ends(turn: &str) -> String {
    format!("DELETE FROM write_under_way WHERE turn = {turn}")
}

impl HeldNames {
    /// Creates the list of names that `turn` holds exclusively.
    pub(super) fn new(turn: Uuid, names: &[&str]) -> Self {
        Self { turn, names: serde_json::to_string(names).unwrap_or_default() }
    }

    /// Checks whether another turn left a record on the names of this turn. The query runs on the connection of this
    /// turn, so a failure shows that the turn is lost. From then on the database waits for the writer, which may wait
    /// for v1.
    pub(super) async fn finds_another(&self, held: &mut Session) -> Result<bool, StoreError> {
        let text = "SELECT COUNT(*), set_config('idle_in_transaction_session_timeout', '0', true) \
                    FROM write_under_way \
                    WHERE turn <> $1 AND name IN (SELECT jsonb_array_elements_text($2::jsonb))";
        let others: Option<i64> = value(held, query(text, &[&self.turn, &self.names])).await?;
        Ok(others.is_some_and(|others| others > 0))
    }
}

impl Store {
    /// Records more names of a turn, before it writes to them.
    pub async fn note_more(&self, noted: &HeldNames) -> Result<(), StoreError> {
        self.engine.change(query(sql(begins("$1", "$2")), &[&noted.turn, &noted.names])).await.map(drop)
    }

    /// Removes the records that other turns left on the names of `noted`, and old records.
    pub(super) async fn forget_others(&self, noted: &HeldNames) -> Result<(), StoreError> {
        let text = format!(
            "DELETE FROM write_under_way WHERE begun_at < {DATABASE_NOW} - {OLD} \
             OR turn <> $1 AND name IN (SELECT jsonb_array_elements_text($2::jsonb))"
        );
        self.engine.change(query(sql(text), &[&noted.turn, &noted.names])).await.map(drop)
    }
}

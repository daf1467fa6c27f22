//! Writes that are being made at v1, so that the writes a process leaves behind when it dies are known.
//!
//! v1 loads a row, changes it and saves all of it, and goes on when the one who asked is gone. The locks of a process
//! that dies are free at once, so the next writer could change the same row while v1 is still at work for the dead one,
//! which then saves what it loaded before. So each turn notes what it has to itself before it writes, and takes that
//! away when it has ended. A turn that finds the note of another one on a name that is its own now waits until v1 has
//! certainly ended. Only with PostgreSQL: the process that has a SQLite file to itself leaves it to nobody who runs
//! already.
//!
//! May use: `peers` (the clock), this folder.

use super::error::StoreError;
use super::peers::DATABASE_NOW;
use super::rows::{query, sql, value};
use super::service::Store;
use super::session::Session;
use std::time::Duration;
use uuid::Uuid;

/// Time in which v1 ends what it is at, also when it is busy.
pub(super) const AT_WORK: Duration = Duration::from_secs(3);
/// Age from which a note is nobody's, in microseconds.
const OLD: i64 = 24 * 60 * 60 * 1_000_000;

/// What a turn has to itself.
#[derive(Debug, Clone)]
pub struct Noted {
    pub(super) turn: Uuid,
    /// As a list in JSON, because all drivers know text.
    pub(super) names: String,
}

/// The statement that notes what a turn has to itself; both are the places of its values.
pub(super) fn begins(turn: &str, names: &str) -> String {
    format!(
        "INSERT INTO write_under_way (name, turn, begun_at) \
         SELECT jsonb_array_elements_text({names}::jsonb), {turn}::text, {DATABASE_NOW} ON CONFLICT DO NOTHING"
    )
}

/// The statement that takes all of that away.
pub(super) fn ends(turn: &str) -> String {
    format!("DELETE FROM write_under_way WHERE turn = {turn}")
}

impl Noted {
    /// What `turn` has to itself.
    pub(super) fn new(turn: Uuid, names: &[&str]) -> Self {
        Self { turn, names: serde_json::to_string(names).unwrap_or_default() }
    }

    /// Whether another turn left something behind on the names that this one has to itself, asked on the connection of
    /// this turn: without an answer it is lost.
    pub(super) async fn finds_another(&self, held: &mut Session) -> Result<bool, StoreError> {
        let text = "SELECT COUNT(*) FROM write_under_way \
                    WHERE turn <> $1 AND name IN (SELECT jsonb_array_elements_text($2::jsonb))";
        let others: Option<i64> = value(held, query(text, &[&self.turn, &self.names])).await?;
        Ok(others.is_some_and(|others| others > 0))
    }
}

impl Store {
    /// Notes more of a turn, before it writes to that.
    pub async fn note_more(&self, noted: &Noted) -> Result<(), StoreError> {
        self.engine.change(query(sql(begins("$1", "$2")), &[&noted.turn, &noted.names])).await.map(drop)
    }

    /// Notes that others left behind on the names of `noted` do not matter any more, nor do old ones.
    pub(super) async fn forget_others(&self, noted: &Noted) -> Result<(), StoreError> {
        let text = format!(
            "DELETE FROM write_under_way WHERE begun_at < {DATABASE_NOW} - {OLD} \
             OR turn <> $1 AND name IN (SELECT jsonb_array_elements_text($2::jsonb))"
        );
        self.engine.change(query(sql(text), &[&noted.turn, &noted.names])).await.map(drop)
    }
}

//! Selects the gateway process that refreshes an index of work items for all, and stores its notes (deltas) for others.
//!
//! The store does not interpret the content of a delta: it keeps bytes under a name and a number that grows by one. A
//! turn is a lease by the clock of the database, because a lease needs no connection of its own. A process that has
//! lost its turn can write no more deltas, so the deltas of one name never overlap in time. All ages are also by the
//! clock of the database. Only with PostgreSQL; a SQLite file belongs to one process.
//!
//! May use: `units`, this folder.

use super::error::StoreError;
use super::peers::DATABASE_NOW;
use super::rows::{query, sql, value};
use super::service::Store;
use crate::units::micros;
use sqlx::Row;
use std::time::Duration;
use uuid::Uuid;

/// Duration of a turn that is not renewed.
const TURN: Duration = Duration::from_secs(3);
/// Number of deltas kept for one name.
const KEPT: i64 = 16;
/// Longest time that a delta is kept.
const LONGEST: Duration = Duration::from_secs(600);
/// Time for which a name is remembered after its last refresh.
const REMEMBERED: Duration = Duration::from_secs(7 * 24 * 3600);

/// The turn of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeltaTurn {
    /// Id that identifies the turn.
    pub holder: Uuid,
    /// Number of the last delta written before this turn.
    pub number: i64,
}

/// Result of trying to take the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakenTurn {
    /// This process has the turn.
    Mine(DeltaTurn),
    /// Another process has had it for this long.
    Others(Duration),
}

/// A delta that a process has written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDelta {
    /// Its number.
    pub number: i64,
    /// Time since the beginning of the turn in which it was read.
    pub age: Duration,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Converts an age by the clock of the database; none when that clock was set back meanwhile.
fn age(micros: i64) -> Option<Duration> {
    u64::try_from(micros).ok().map(Duration::from_micros)
}

impl Store {
    /// Returns the deltas of `name` with numbers above `after`, of turns that began within `within`, in order.
    pub async fn deltas(&self, name: &str, after: i64, within: Duration) -> Result<Vec<StoredDelta>, StoreError> {
        let text = format!(
            "SELECT number, {DATABASE_NOW} - began_at, bytes FROM index_delta \
             WHERE name = $1 AND number > $2 AND began_at >= {DATABASE_NOW} - $3 ORDER BY number"
        );
        let reading = query(sql(text), &[&name, &after, &micros(within.min(LONGEST))]);
        let rows = self.engine.unless_unavailable(reading.fetch_all(self.engine.pool())).await?;
        let mut deltas = Vec::with_capacity(rows.len());
        for row in &rows {
            if let Some(age) = age(row.try_get(1)?) {
                deltas.push(StoredDelta { number: row.try_get(0)?, age, bytes: row.try_get(2)? });
            }
        }
        Ok(deltas)
    }

    /// Takes the turn to refresh the index `name`, unless another process has it.
    pub async fn take_delta_turn(&self, name: &str) -> Result<TakenTurn, StoreError> {
        // Numbers begin with the time, so that they also grow where nothing is remembered. A turn whose end is later
        // than a turn can last was taken before the clock was set back.
        let text = format!(
            "WITH taken AS (INSERT INTO index_turn AS t (name, number, holder, taken_at, held_until) \
             VALUES ($1, {DATABASE_NOW}, $2, {DATABASE_NOW}, {DATABASE_NOW} + $3) \
             ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, taken_at = excluded.taken_at, \
             held_until = excluded.held_until \
             WHERE t.held_until <= excluded.taken_at OR t.held_until > excluded.held_until + $3 RETURNING number) \
             SELECT 1::bigint, number FROM taken UNION ALL \
             SELECT 0::bigint, {DATABASE_NOW} - taken_at FROM index_turn \
             WHERE name = $1 AND NOT EXISTS (SELECT 1 FROM taken)"
        );
        let holder = Uuid::new_v4();
        let taking = query(sql(text), &[&name, &holder, &micros(TURN)]);
        let row = self.engine.unless_unavailable(taking.fetch_optional(self.engine.pool())).await?;
        let Some(row) = row else { return Ok(TakenTurn::Others(Duration::ZERO)) };
        let (own, number): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        Ok(match own {
            1 => TakenTurn::Mine(DeltaTurn { holder, number }),
            _ => TakenTurn::Others(age(number).unwrap_or_default()),
        })
    }

    /// Renews a turn, unless it is lost.
    pub async fn renew_delta_turn(&self, name: &str, holder: Uuid) -> Result<(), StoreError> {
        let text = format!(
            "UPDATE index_turn SET held_until = {DATABASE_NOW} + $3 \
             WHERE name = $1 AND holder = $2 AND held_until > 0"
        );
        self.engine.change(query(sql(text), &[&name, &holder, &micros(TURN)])).await.map(drop)
    }

    /// Ends a turn without writing a delta.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written; the turn then expires.
    pub async fn end_delta_turn(&self, name: &str, holder: Uuid) -> Result<(), StoreError> {
        let text = "UPDATE index_turn SET held_until = 0 WHERE name = $1 AND holder = $2";
        self.engine.change(query(text, &[&name, &holder])).await.map(drop)
    }

    /// Writes the delta of a turn and ends the turn. Returns its number, or none when the turn was lost before. Removes
    /// deltas that are no longer useful.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written; the delta may still have been written.
    pub async fn tell_delta(&self, name: &str, holder: Uuid, bytes: &[u8]) -> Result<Option<i64>, StoreError> {
        let text = format!(
            "WITH ended AS (UPDATE index_turn SET number = number + 1, held_until = 0 \
             WHERE name = $1 AND holder = $2 AND held_until > 0 RETURNING number, taken_at), \
             old AS (DELETE FROM index_delta WHERE began_at < {DATABASE_NOW} - $4 \
             OR (name = $1 AND number <= (SELECT number FROM ended) - $5)), \
             forgotten AS (DELETE FROM index_turn WHERE name <> $1 AND taken_at < {DATABASE_NOW} - $6) \
             INSERT INTO index_delta (name, number, began_at, bytes) \
             SELECT $1, number, taken_at, $3 FROM ended RETURNING number"
        );
        let telling = query(sql(text), &[&name, &holder, &bytes, &micros(LONGEST), &KEPT, &micros(REMEMBERED)]);
        self.engine.unless_unavailable(value(self.engine.pool(), telling)).await
    }
}

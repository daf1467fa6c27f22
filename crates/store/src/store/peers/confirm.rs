//! Sending other processes a note of a change, and waiting until all that answer from memory have received it.
//!
//! May use: `fresh`, `engine`, `service`, this folder.

use super::super::engine::{Engine, Kind};
use super::super::error::StoreError;
use super::super::rows::{all, query, sql};
use super::super::service::Store;
use super::lease::LEASE;
use super::note::NOTES;
use super::state::Awaited;
use crate::fresh::Changed;
use sqlx::AnyPool;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};
use uuid::Uuid;

/// Time between two looks at the leases, for a process that receives no confirmations.
const LOOK: Duration = Duration::from_millis(100);
/// Step of the tables that adds the table `process`; processes of older tables have no leases.
const PROCESSES: i64 = 6;

/// Microseconds since 1970 by the clock of the database.
pub(in crate::store) const DATABASE_NOW: &str = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

impl Store {
    /// Sends all gateway processes a note of changes that belong to no transaction of the store, and waits until all
    /// that answer from memory have received it.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be used; the cache entries of this process are invalidated anyway.
    pub async fn tell(&self, changed: Vec<Changed>) -> Result<(), StoreError> {
        let engine = &self.engine;
        engine.peers.invalidate_locally(&changed);
        if engine.kind() == Kind::Sqlite {
            return Ok(());
        }
        let (awaited, note) = engine.peers.awaited_note(changed);
        let sending = query("SELECT pg_notify($1, $2)::text", &[&NOTES, &note]).fetch_one(engine.pool());
        engine.unless_unavailable(sending).await?;
        engine.wait_until_confirmed(awaited).await;
        Ok(())
    }
}

impl Engine {
    /// Waits until every process that answers from memory has received this note, which is committed.
    pub(in crate::store) async fn wait_until_confirmed(&self, awaited: Awaited) {
        let end = Instant::now() + LEASE;
        let peers = &self.peers;
        let asked = timeout_at(end, leases(self.pool_of_any_version(), peers.me)).await;
        let Ok(Ok(leases)) = asked else {
            // The holders of leases are unknown; at `end` every holder has received the note.
            return tokio::time::sleep_until(end).await;
        };
        if leases.is_empty() {
            return;
        }
        if !peers.listens.load(Ordering::Acquire) {
            return renewed_twice(self.pool_of_any_version(), peers.me, leases, end).await;
        }
        loop {
            let heard = peers.heard.notified();
            tokio::pin!(heard);
            // Register now, so that a confirmation before the wait below is not missed.
            heard.as_mut().enable();
            if awaited.is_heard_by(leases.keys()) || timeout_at(end, heard).await.is_err() {
                return;
            }
        }
    }

    /// Checks whether another process has a lease.
    pub(super) async fn is_leased(&self) -> Result<bool, StoreError> {
        if self.tables_version().await? < PROCESSES {
            return Ok(false);
        }
        let leases = leases(self.pool_of_any_version(), self.peers.me).await?;
        Ok(!leases.is_empty())
    }
}

/// Returns the other processes with a lease, each with its number of renewals.
async fn leases(pool: &AnyPool, me: Uuid) -> Result<HashMap<Uuid, i64>, StoreError> {
    let text = format!("SELECT id, beats FROM process WHERE id <> $1 AND lease_until > {DATABASE_NOW}");
    all(pool, query(sql(text), &[&me]), |cells| Ok((cells.next()?, cells.next()?))).await
}

/// Waits until each of these leases was renewed twice or has ended. A process sends the second renewal only when the
/// first has come back to it, and with the first every note before it.
async fn renewed_twice(pool: &AnyPool, me: Uuid, before: HashMap<Uuid, i64>, end: Instant) {
    while Instant::now() < end {
        sleep(LOOK).await;
        let Ok(Ok(now)) = timeout_at(end, leases(pool, me)).await else { continue };
        if before.iter().all(|(id, beats)| now.get(id).is_none_or(|later| *later >= beats + 2)) {
            return;
        }
    }
}

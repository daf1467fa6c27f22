//! Telling the others of a change, and waiting until all have heard of it.
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

/// Time from one look at the leases to the next, of a process that hears no confirmations.
const LOOK: Duration = Duration::from_millis(100);
/// The step of the tables since which processes are told.
const PROCESSES: i64 = 6;

/// Microseconds since 1970 by the clock of the database.
pub(in crate::store) const DATABASE_NOW: &str = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

impl Store {
    /// Tells all gateway processes of changes that no transaction of the store goes with, and waits until all have
    /// heard.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be used; the values this process keeps are void all the same.
    pub async fn tell(&self, changed: Vec<Changed>) -> Result<(), StoreError> {
        let engine = &self.engine;
        engine.peers.tell_here(&changed);
        if engine.kind() == Kind::Sqlite {
            return Ok(());
        }
        let (awaited, note) = engine.peers.awaited_note(changed);
        let sending = query("SELECT pg_notify($1, $2)::text", &[&NOTES, &note]).fetch_one(engine.pool());
        engine.while_there(sending).await?;
        engine.wait_until_confirmed(awaited).await;
        Ok(())
    }
}

impl Engine {
    /// Waits until every process that answers from memory has heard this note, which is committed.
    pub(in crate::store) async fn wait_until_confirmed(&self, awaited: Awaited) {
        let end = Instant::now() + LEASE;
        let peers = &self.peers;
        let asked = timeout_at(end, leases(self.pool_of_any_version(), peers.me)).await;
        let Ok(Ok(leases)) = asked else {
            // Nobody can say who has a lease; by then those who have one heard the note.
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
            // Told from here on, also of what comes before it is waited for.
            heard.as_mut().enable();
            if awaited.is_heard_by(leases.keys()) || timeout_at(end, heard).await.is_err() {
                return;
            }
        }
    }

    /// Whether another process has a lease.
    pub(super) async fn is_leased(&self) -> Result<bool, StoreError> {
        if self.tables_version().await? < PROCESSES {
            return Ok(false);
        }
        let leases = leases(self.pool_of_any_version(), self.peers.me).await?;
        Ok(!leases.is_empty())
    }
}

/// How often each other process that has a lease has renewed it.
async fn leases(pool: &AnyPool, me: Uuid) -> Result<HashMap<Uuid, i64>, StoreError> {
    let text = format!("SELECT id, beats FROM process WHERE id <> $1 AND lease_until > {DATABASE_NOW}");
    all(pool, query(sql(text), &[&me]), |cells| Ok((cells.next()?, cells.next()?))).await
}

/// Waits until each of these leases was renewed twice or has ended: the second renewal is sent only when the first has
/// come back, and with it everything before it.
async fn renewed_twice(pool: &AnyPool, me: Uuid, before: HashMap<Uuid, i64>, end: Instant) {
    while Instant::now() < end {
        sleep(LOOK).await;
        let Ok(Ok(now)) = timeout_at(end, leases(pool, me)).await else { continue };
        if before.iter().all(|(id, beats)| now.get(id).is_none_or(|later| *later >= beats + 2)) {
            return;
        }
    }
}

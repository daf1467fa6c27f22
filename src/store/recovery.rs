//! A store that could only be read, and whether it can be written by now.
//!
//! A SQLite file that cannot be written is opened for reading, and a session of PostgreSQL that begins while the
//! database is read-only stays so; either would outlast its cause for as long as its connections live. So while the
//! store is known to be read-only, its use asks about once a second whether that is over; if so, the tables are brought
//! up to date, and every connection opened before is replaced when it is used next. Each change is logged once.
//!
//! May use: this folder.

use super::engine::{Engine, Kind, connected};
use super::error::StoreError;
use sqlx::Row;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time from one look at whether the store can be written to the next.
const PAUSE: Duration = Duration::from_secs(1);

/// What is known about writing, shared by all connections of a store.
#[derive(Debug, Default)]
pub(super) struct Writable {
    read_only: AtomicBool,
    /// When it was looked at last.
    looked: Mutex<Option<Instant>>,
    /// When the store could be written again; connections from before that are not used any more.
    renewed: Mutex<Option<Instant>>,
}

impl Writable {
    /// The store can only be read.
    pub(super) fn lost(&self) {
        if !self.read_only.swap(true, Ordering::Relaxed) {
            tracing::warn!("the store can only be read; writes are refused until it can be written");
        }
    }

    /// Whether the store can only be read, as far as is known.
    pub(super) fn is_lost(&self) -> bool {
        self.read_only.load(Ordering::Relaxed)
    }

    /// Whether it is time to look again; of several that ask at once, one is told so.
    fn is_due(&self) -> bool {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        let due = looked.is_none_or(|looked| looked.elapsed() >= PAUSE);
        if due {
            *looked = Some(Instant::now());
        }
        due
    }

    fn regained(&self) {
        *self.renewed.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        if self.read_only.swap(false, Ordering::Relaxed) {
            tracing::info!("the store can be written again");
        }
    }

    /// Whether a connection of this age may be used.
    pub(super) fn is_current(&self, age: Duration) -> bool {
        let renewed = *self.renewed.lock().unwrap_or_else(PoisonError::into_inner);
        renewed.is_none_or(|renewed| age <= renewed.elapsed())
    }
}

impl Engine {
    /// Looks whether a store that could only be read can be written by now, if it is time to.
    pub(super) async fn look_again(&self) {
        if self.writable.is_lost()
            && self.writable.is_due()
            && let Err(cause) = self.regain().await
        {
            tracing::debug!(%cause, "the store can still only be read");
        }
    }

    /// [`Engine::look_again`] beside the work of a caller that does not wait for it.
    pub(super) fn look_again_beside(&self) {
        if self.writable.is_lost()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let engine = self.clone();
            runtime.spawn(async move { engine.look_again().await });
        }
    }

    async fn regain(&self) -> Result<(), StoreError> {
        let Some(target) = self.target()? else { return Ok(()) };
        let mut connection = connected(self.kind(), &target).await?;
        if self.kind() == Kind::Postgres && is_read_only(&mut connection).await? {
            return Ok(());
        }
        self.renew(target);
        self.writable.regained();
        self.migrate().await.inspect_err(|_| self.writable.lost())
    }
}

/// Whether this session of PostgreSQL may only read: the server recovers, or somebody has said so.
pub(super) async fn is_read_only(connection: &mut sqlx::AnyConnection) -> Result<bool, sqlx::Error> {
    let row = sqlx::query("SELECT current_setting('transaction_read_only')").fetch_one(connection).await?;
    Ok(row.try_get::<String, _>(0)? == "on")
}

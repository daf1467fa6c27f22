//! What is known about writing to the store, shared by all its connections.
//!
//! May use: nothing of this crate.

use parking_lot::Mutex;
use sqlx::Row;
use std::sync::atomic::{AtomicBool, Ordering};
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
    /// Whether the tables are those of an older version.
    pub(super) behind: AtomicBool,
    /// Held by the one who brings the store back.
    pub(super) regaining: tokio::sync::Mutex<()>,
    /// Whether it was said that the tables cannot be brought up to date.
    pub(super) said: AtomicBool,
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
    pub(super) fn is_due(&self) -> bool {
        let mut looked = self.looked.lock();
        let due = looked.is_none_or(|looked| looked.elapsed() >= PAUSE);
        if due {
            *looked = Some(Instant::now());
        }
        due
    }

    /// Whether the tables are those of an older version, so that nothing of the store can be used.
    pub(super) fn is_behind(&self) -> bool {
        self.behind.load(Ordering::Relaxed)
    }

    /// Connections opened before are not used any more.
    pub(super) fn renewed(&self) {
        *self.renewed.lock() = Some(Instant::now());
    }

    pub(super) fn regained(&self) {
        if self.read_only.swap(false, Ordering::Relaxed) {
            tracing::info!("the store can be written again");
        }
        if self.behind.swap(false, Ordering::Relaxed) {
            tracing::info!("the tables of the store were brought up to date");
        }
    }

    /// Whether a connection of this age may be used.
    pub(super) fn is_current(&self, age: Duration) -> bool {
        let renewed = *self.renewed.lock();
        renewed.is_none_or(|renewed| age <= renewed.elapsed())
    }
}

/// Whether this session of PostgreSQL may only read: the server recovers, or somebody has said so.
pub(super) async fn is_read_only(connection: &mut sqlx::AnyConnection) -> Result<bool, sqlx::Error> {
    let row = sqlx::query("SELECT current_setting('transaction_read_only')").fetch_one(connection).await?;
    Ok(row.try_get::<String, _>(0)? == "on")
}

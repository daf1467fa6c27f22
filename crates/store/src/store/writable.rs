//! State of writing to the store, shared by all its connections.
//!
//! May use: nothing of this crate.

use parking_lot::Mutex;
use sqlx::Row;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time between two checks whether the store can be written.
const PAUSE: Duration = Duration::from_secs(1);

/// State of writing, shared by all connections of a store.
#[derive(Debug, Default)]
pub(super) struct Writable {
    read_only: AtomicBool,
    /// Whether the last write of a SQLite store failed because the disk is full.
    full: AtomicBool,
    /// Time of the last check.
    looked: Mutex<Option<Instant>>,
    /// Time when the connections were last renewed; connections opened before are not used any more.
    renewed: Mutex<Option<Instant>>,
    /// Whether the tables are of an older version.
    pub(super) behind: AtomicBool,
    /// Held by the caller that makes the store writable again.
    pub(super) regaining: tokio::sync::Mutex<()>,
    /// Whether it was logged that the tables cannot be updated.
    pub(super) said: AtomicBool,
}

impl Writable {
    /// Marks the store as read-only.
    pub(super) fn lost(&self) {
        if !self.read_only.swap(true, Ordering::Relaxed) {
            tracing::warn!("the store can only be read; writes are refused until it can be written");
        }
    }

    /// Checks whether the store is known to be read-only.
    pub(super) fn is_lost(&self) -> bool {
        self.read_only.load(Ordering::Relaxed)
    }

    /// Notes the outcome of a commit: whether it failed because the disk is full.
    pub(super) fn committed(&self, full: bool) {
        self.full.store(full, Ordering::Relaxed);
    }

    /// Checks whether the disk was full at the last write.
    pub(super) fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    /// Checks whether the next check is due; of several callers at once only one gets true.
    pub(super) fn is_due(&self) -> bool {
        let mut looked = self.looked.lock();
        let due = looked.is_none_or(|looked| looked.elapsed() >= PAUSE);
        if due {
            *looked = Some(Instant::now());
        }
        due
    }

    /// Checks whether the tables are of an older version, so that nothing of the store can be used.
    pub(super) fn is_behind(&self) -> bool {
        self.behind.load(Ordering::Relaxed)
    }

    /// Marks all connections opened before as no longer usable.
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

    /// Checks whether a connection of this age may be used.
    pub(super) fn is_current(&self, age: Duration) -> bool {
        let renewed = *self.renewed.lock();
        renewed.is_none_or(|renewed| age <= renewed.elapsed())
    }
}

/// Tells whether a session can only read: the server is in recovery, or a setting says so, or the user may not write
/// the table in which each write is announced. While there is no such table, nothing is known of the user.
const IS_READ_ONLY: &str = "SELECT (current_setting('transaction_read_only') = 'on' OR NOT COALESCE( \
                            has_table_privilege(to_regclass('project'), 'INSERT') AND \
                            has_table_privilege(to_regclass('project'), 'UPDATE'), TRUE))::int::bigint";

/// Checks whether this PostgreSQL session can only read.
pub(super) async fn is_read_only(connection: &mut sqlx::AnyConnection) -> Result<bool, sqlx::Error> {
    Ok(sqlx::query(IS_READ_ONLY).fetch_one(connection).await?.try_get::<i64, _>(0)? == 1)
}

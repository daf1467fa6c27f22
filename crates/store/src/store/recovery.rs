//! A store that could only be read, and whether it can be written by now.
//!
//! A SQLite file that cannot be written is opened for reading, and a session of PostgreSQL that begins while the
//! database is read-only stays so; either would outlast its cause for as long as its connections live. So while the
//! store is known to be read-only, its use asks about once a second whether that is over; if so, the tables are brought
//! up to date, and every connection opened before is replaced when it is used next. Each change is logged once.
//!
//! A store that was made by an older version waits for that: its tables are not those that this version reads, so until
//! then nothing of it is used (`Engine::pool`).
//!
//! May use: this folder.

use super::engine::Engine;
use super::error::StoreError;
use super::kind::Kind;
use super::opening::connected;
use super::writable::{is_read_only, is_refused_as_read_only};
use sqlx::Executor;
use std::sync::atomic::Ordering;

impl Engine {
    /// Looks whether a store that could only be read can be written by now, if it is time to. A file that is not where
    /// it was is not looked for.
    pub(super) async fn look_again(&self) {
        if !self.writable.is_lost() || !self.in_place.is_kept() || !self.writable.is_due() {
            return;
        }
        match self.regain().await {
            Err(cause @ StoreError::Schema(_)) if !self.writable.said.swap(true, Ordering::Relaxed) => {
                tracing::error!(%cause, "the store can be written again, but not by this version");
            }
            Err(cause) => tracing::debug!(%cause, "the store can still only be read"),
            Ok(()) => {}
        }
    }

    /// Looks whether a store behind PostgreSQL can only be read since its connections were made, as by a setting of the
    /// server: no statement that reads tells.
    pub(super) async fn look_whether_it_is_written(&self) -> Result<(), StoreError> {
        if self.kind() == Kind::Postgres && !self.writable.is_lost() {
            let mut connection = self.pool_of_any_version().acquire().await?;
            if is_read_only(&mut connection).await? {
                self.writable.lost();
            }
        }
        Ok(())
    }

    /// [`Engine::migrate`], put off when the store can only be read and is that of an older version.
    pub(super) async fn migrate_when_writable(&self) -> Result<(), StoreError> {
        let cause = match self.migrate().await {
            Err(StoreError::Unavailable(cause)) if self.writable.is_lost() => cause,
            outcome => return outcome,
        };
        let version = self.tables_version().await.unwrap_or(0);
        if version == 0 {
            // Nobody knows whose it will be.
            return Err(StoreError::Unavailable(cause));
        }
        self.writable.behind.store(true, Ordering::Relaxed);
        let steps = self.steps_after(version).join(", ");
        tracing::warn!(
            steps,
            "the tables of the store are of an older version; until it can be written, what needs the store is refused"
        );
        Ok(())
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
        let Ok(_alone) = self.writable.regaining.try_lock() else { return Ok(()) };
        let Some(target) = self.target()? else { return Ok(()) };
        if let Err(fault) = self.lock_to_write().await {
            self.go_on_reading(&fault)?;
            return Err(fault);
        }
        let mut connection = connected(self.kind(), &target).await?;
        match self.kind() {
            Kind::Postgres if is_read_only(&mut connection).await? => return Ok(()),
            Kind::Postgres => {}
            // Only the attempt tells: the files beside it count as well.
            Kind::Sqlite => {
                connection.execute("BEGIN IMMEDIATE").await?;
                connection.execute("ROLLBACK").await?;
            }
        }
        self.renew(target);
        self.writable.renewed();
        self.migrate().await?;
        self.writable.regained();
        Ok(())
    }

    /// The file could be written, but not by this process. The one that has the lock may write it at any time, which
    /// connections made while nobody could do not notice: they are replaced once.
    fn go_on_reading(&self, fault: &StoreError) -> Result<(), StoreError> {
        if self.writable.beside.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        tracing::warn!(cause = %fault, "the store can be written again, but not by this process, which goes on reading it");
        if let Some(target) = self.target_beside_a_writer()? {
            self.renew(target);
            self.writable.renewed();
        }
        Ok(())
    }

    /// A write that SQLite refuses because it can only read tells that of the whole store: a file beside it cannot be
    /// written, for example.
    pub(super) fn learn_from(&self, fault: &sqlx::Error) {
        if self.kind() == Kind::Sqlite && is_refused_as_read_only(fault) {
            self.writable.lost();
        }
    }
}

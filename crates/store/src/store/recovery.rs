//! Recovery of a store that could only be read: checks whether it can be written again.
//!
//! A SQLite file that cannot be written is opened for reading, and a PostgreSQL session that begins while the database
//! is read-only stays so. Both would last longer than their cause, for as long as their connections live. So while the
//! store is known to be read-only, its use checks about once a second whether that is over. If so, the tables are
//! updated, and every connection opened before is replaced at its next use. Each change is logged once.
//!
//! A store of an older version waits for that: this version cannot read its tables, so until then nothing of it is used
//! (`Engine::pool`).
//!
//! May use: `task`, this folder.

use super::engine::Engine;
use super::error::StoreError;
use super::kind::Kind;
use super::opening::connected;
use super::peers::Serving;
use super::writable::is_read_only;
use crate::task::spawn_on;
use std::sync::atomic::Ordering;

impl Engine {
    /// Checks, when the check is due, whether a read-only store can be written again.
    pub(super) async fn recheck_writable(&self) {
        if !self.writable.is_lost() || !self.writable.is_due() {
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

    /// Checks whether the store has become read-only since its connections were opened, for example by a server setting
    /// or because its file was protected. No statement that reads shows that.
    pub(super) async fn check_still_writable(&self) -> Result<(), StoreError> {
        if self.writable.is_lost() {
            return Ok(());
        }
        let is_only_read = match self.kind() {
            Kind::Sqlite => self.is_protected(),
            Kind::Postgres => is_read_only(&mut *self.pool_of_any_version().acquire().await?).await?,
        };
        if is_only_read {
            self.writable.lost();
        }
        Ok(())
    }

    /// Runs [`Engine::migrate`], but puts it off when the store can only be read and is of an older version.
    pub(super) async fn migrate_when_writable(&self) -> Result<(), StoreError> {
        let cause = match self.migrate().await {
            Err(StoreError::Unavailable(cause)) if self.writable.is_lost() => cause,
            outcome => return outcome,
        };
        let version = self.tables_version().await.unwrap_or(0);
        if version == 0 {
            // The store has no tables yet, so it is unknown which deployment it belongs to.
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

    /// Runs [`Engine::recheck_writable`] in the background; the caller does not wait for it.
    pub(super) fn recheck_in_background(&self) {
        if self.writable.is_lost()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let engine = self.clone();
            spawn_on(&runtime, async move { engine.recheck_writable().await });
        }
    }

    async fn regain(&self) -> Result<(), StoreError> {
        let Ok(_alone) = self.writable.regaining.try_lock() else { return Ok(()) };
        let Some(target) = self.target()? else { return Ok(()) };
        match self.lock_to_write().await {
            Err(fault @ StoreError::Served { .. }) => {
                self.reconnect_beside_writer(&fault)?;
                return Err(fault);
            }
            locked => locked?,
        }
        let mut connection = self.unless_unavailable(connected(self.kind(), &target)).await?;
        if self.kind() == Kind::Postgres && is_read_only(&mut connection).await? {
            return Ok(());
        }
        self.renew(target);
        self.migrate().await?;
        self.writable.regained();
        Ok(())
    }

    /// Handles a file that can be written again, but not by this process. The process with the lock may write it at any
    /// time, and connections opened while nobody could write do not notice: they are replaced once.
    fn reconnect_beside_writer(&self, fault: &StoreError) -> Result<(), StoreError> {
        let mut serving = self.serving.lock();
        let Serving::WithoutLock(file) = &*serving else { return Ok(()) };
        *serving = Serving::BesideAWriter(file.clone());
        drop(serving);
        tracing::warn!(cause = %fault, "the store can be written again, but not by this process, which goes on reading it");
        if let Some(target) = self.read_only_target()? {
            self.renew(target);
        }
        Ok(())
    }
}

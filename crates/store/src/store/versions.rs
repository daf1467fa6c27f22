//! The version of the tables, and updating the tables.
//!
//! May use: this folder.

use super::engine::Engine;
use super::error::StoreError;
use super::kind::Kind;
use super::steps::{last_step, migrations_of};
use sqlx::Row;
use sqlx::migrate::{MigrateError, Migrator};

impl Engine {
    /// Creates or changes the tables to the form that this version needs.
    ///
    /// # Errors
    /// [`StoreError::Schema`] when a newer version has changed the tables.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        if let Ok(version) = self.tables_version().await
            && self.newest_step() < version
        {
            return self.fits_newer_tables(version).await;
        }
        match self.take_steps_beside_others().await.map_err(StoreError::from) {
            Ok(()) => self.allow_versions().await,
            // A store that cannot be written at present can still be read if its tables need no change.
            Err(StoreError::Unavailable(cause)) => match self.tables_version().await {
                Ok(version) if self.newest_step() < version => self.fits_newer_tables(version).await,
                Ok(version) if version > 0 && self.steps_after(version).is_empty() => Ok(()),
                _ => Err(StoreError::Unavailable(cause)),
            },
            other => other,
        }
    }

    /// Runs [`Engine::take_steps`], also while another process does so. PostgreSQL has a lock for it, and this process
    /// waits for the lock however long the steps of the other process take. A SQLite file has none, so this process can
    /// fail at a step that the other process has just taken. A step is taken completely or not at all, so the next
    /// attempt continues after it.
    async fn take_steps_beside_others(&self) -> Result<(), MigrateError> {
        loop {
            let before = self.tables_version().await;
            let outcome = self.take_steps().await;
            match (before, self.tables_version().await) {
                _ if outcome.as_ref().is_err_and(is_waiting) => {
                    tracing::info!("another process updates the tables of the store; waiting for its end");
                }
                (Ok(before), Ok(now)) if outcome.is_err() && before < now => {}
                _ => return outcome,
            }
        }
    }

    async fn take_steps(&self) -> Result<(), MigrateError> {
        let mut connection = self.pool_of_any_version().acquire().await?;
        let outcome = self.migrations().run_direct(None, &mut *connection, false).await;
        if outcome.is_err() && self.kind() == Kind::Postgres {
            // The connection may hold the migration lock, and would keep it as long as it lives.
            let _ = connection.close().await;
        }
        outcome
    }

    fn migrations(&self) -> &'static Migrator {
        migrations_of(self.kind())
    }

    /// Returns the last migration that was applied to this database; 0 for none.
    pub(super) async fn tables_version(&self) -> Result<i64, StoreError> {
        let there = match self.kind() {
            Kind::Sqlite => "SELECT COUNT(*) FROM sqlite_master WHERE name = '_sqlx_migrations'",
            Kind::Postgres => "SELECT COUNT(*) FROM pg_class WHERE oid = to_regclass('_sqlx_migrations')",
        };
        let there: i64 = sqlx::query(there).fetch_one(self.pool_of_any_version()).await?.try_get(0)?;
        if there == 0 {
            return Ok(0);
        }
        let last = "SELECT COALESCE(MAX(version), 0) FROM _sqlx_migrations";
        Ok(sqlx::query(last).fetch_one(self.pool_of_any_version()).await?.try_get(0)?)
    }

    /// Returns the names of the migrations after `version`.
    pub(super) fn steps_after(&self, version: i64) -> Vec<String> {
        let steps = self.migrations().iter().filter(|step| step.version > version);
        steps.map(|step| format!("{:04} {}", step.version, step.description)).collect()
    }

    /// Returns the number of the last migration that this version knows.
    pub(super) fn newest_step(&self) -> i64 {
        last_step(self.kind())
    }
}

/// Checks whether the lock of the process that updates the tables was not free in time. The steps themselves fail with
/// another error.
fn is_waiting(fault: &MigrateError) -> bool {
    let MigrateError::Execute(sqlx::Error::Database(cause)) = fault else { return false };
    cause.code().as_deref() == Some("55P03")
}

//! The version of the tables: brought up to date, and whether another version may use them.
//!
//! The steps that build them are in the folder `migrations`: one folder for each kind of database, one file for each step,
//! named `NUMBER_what_it_does.sql`. Road not taken: `sqlx::migrate!` does the same while compiling, and for that builds
//! SQLite and both drivers a second time.
//!
//! May use: this folder.

use super::engine::Engine;
use super::error::StoreError;
use super::kind::Kind;
use super::rows::query;
use rust_embed::RustEmbed;
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::{AssertSqlSafe, Row, SqlSafeStr};
use std::sync::LazyLock;

/// The last step that a program must know to read these tables rightly, and to write them: a step that only adds what
/// older versions can ignore leaves both as they are, one that changes the meaning of what is there raises them. Steps
/// that take something away come in a later release than the one that stops using it.
const MIN_READER: i64 = 5;
/// See [`MIN_READER`].
const MIN_WRITER: i64 = 5;

#[derive(RustEmbed)]
#[folder = "src/store/migrations/sqlite"]
struct Sqlite;

#[derive(RustEmbed)]
#[folder = "src/store/migrations/postgres"]
struct Postgres;

static SQLITE: LazyLock<Migrator> = LazyLock::new(steps::<Sqlite>);
static POSTGRES: LazyLock<Migrator> = LazyLock::new(steps::<Postgres>);

fn steps<Folder: RustEmbed>() -> Migrator {
    Migrator::with_migrations(Folder::iter().filter_map(|name| step::<Folder>(&name)).collect())
}

fn step<Folder: RustEmbed>(file: &str) -> Option<Migration> {
    let (number, what) = file.strip_suffix(".sql")?.split_once('_')?;
    let text = String::from_utf8(Folder::get(file)?.data.into_owned()).ok()?;
    Some(Migration::new(
        number.parse().ok()?,
        what.replace('_', " ").into(),
        MigrationType::Simple,
        AssertSqlSafe(text).into_sql_str(),
        false,
    ))
}

impl Engine {
    /// Creates or changes the tables to what this version needs.
    ///
    /// # Errors
    /// [`StoreError::Schema`] when a newer version has been here.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        if let Ok(version) = self.tables_version().await
            && self.newest_step() < version
        {
            return self.fits_newer_tables(version).await;
        }
        match self.take_steps().await.map_err(StoreError::from) {
            Ok(()) => self.allow_versions().await,
            // A store that cannot be written at present is still read, when there is nothing to change in it.
            Err(StoreError::Unavailable(cause)) => match self.tables_version().await {
                Ok(version) if self.newest_step() < version => self.fits_newer_tables(version).await,
                Ok(version) if version > 0 && self.steps_after(version).is_empty() => Ok(()),
                _ => Err(StoreError::Unavailable(cause)),
            },
            other => other,
        }
    }

    /// Whether this version may use tables of a newer one: that one has said which versions may still write beside it.
    pub(super) async fn fits_newer_tables(&self, version: i64) -> Result<(), StoreError> {
        self.is_allowed(version, "SELECT min_writer FROM service WHERE id = 1", "writes").await
    }

    /// Whether this version may read tables of a newer one.
    pub(super) async fn may_read_newer_tables(&self, version: i64) -> Result<(), StoreError> {
        self.is_allowed(version, "SELECT min_reader FROM service WHERE id = 1", "reads").await
    }

    async fn is_allowed(&self, version: i64, least: &'static str, does: &str) -> Result<(), StoreError> {
        let known = self.newest_step();
        let newer = format!("a newer one has made step {version} of its tables, and this one knows {known} steps");
        let needs = sqlx::query(least).fetch_optional(self.pool_of_any_version()).await;
        let needs: Option<i64> = needs.ok().flatten().and_then(|row| row.try_get(0).ok());
        match needs {
            Some(needs) if needs <= known => Ok(()),
            Some(needs) => Err(StoreError::Schema(format!("{newer}; whoever {does} must know {needs}"))),
            None => Err(StoreError::Schema(newer)),
        }
    }

    /// Says in the store which versions may use it beside this one.
    async fn allow_versions(&self) -> Result<(), StoreError> {
        let said = "SELECT 1 FROM service WHERE id = 1 AND (min_reader < $1 OR min_writer < $2)";
        let said = query(said, &[&MIN_READER, &MIN_WRITER]).fetch_optional(self.pool_of_any_version());
        if said.await?.is_none() {
            return Ok(());
        }
        let text = "UPDATE service SET min_reader = $1, min_writer = $2 WHERE id = 1";
        query(text, &[&MIN_READER, &MIN_WRITER]).execute(self.pool_of_any_version()).await?;
        Ok(())
    }

    async fn take_steps(&self) -> Result<(), MigrateError> {
        let mut connection = self.pool_of_any_version().acquire().await?;
        let outcome = self.migrations().run_direct(None, &mut *connection, false).await;
        if outcome.is_err() && self.kind() == Kind::Postgres {
            // It may hold the lock of those who migrate, and would keep it for as long as it lives.
            let _ = connection.close().await;
        }
        outcome
    }

    fn migrations(&self) -> &'static Migrator {
        migrations_of(self.kind())
    }

    /// The last migration this database has had; 0 for none.
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

    /// Names of the migrations that come after `version`.
    pub(super) fn steps_after(&self, version: i64) -> Vec<String> {
        let steps = self.migrations().iter().filter(|step| step.version > version);
        steps.map(|step| format!("{:04} {}", step.version, step.description)).collect()
    }

    /// Number of the last migration that this version knows.
    pub(super) fn newest_step(&self) -> i64 {
        last_step(self.kind())
    }
}

fn migrations_of(kind: Kind) -> &'static Migrator {
    match kind {
        Kind::Sqlite => &SQLITE,
        Kind::Postgres => &POSTGRES,
    }
}

/// The last step of the tables that this version of the program knows; the same on both kinds.
pub fn last_step(kind: Kind) -> i64 {
    migrations_of(kind).iter().map(|step| step.version).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_is_a_step_and_both_kinds_have_the_same() {
        let names = |migrator: &Migrator| -> Vec<(i64, String)> {
            migrator.iter().map(|step| (step.version, step.description.to_string())).collect()
        };
        assert_eq!(names(&SQLITE).len(), Sqlite::iter().count());
        assert_eq!(names(&SQLITE), names(&POSTGRES));
        assert!(names(&SQLITE).iter().zip(1..).all(|((version, _), number)| *version == number));
    }
}

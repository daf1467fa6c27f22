//! The steps that build the tables.
//!
//! They are in the folder `migrations`: one folder for each kind of database, one file for each step, named
//! `NUMBER_what_it_does.sql`. Rejected alternative: `sqlx::migrate!` does the same at compile time, but for that it
//! compiles SQLite and both drivers a second time.
//!
//! May use: this folder.

use super::kind::Kind;
use rust_embed::RustEmbed;
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::{AssertSqlSafe, SqlSafeStr};
use std::sync::LazyLock;

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

pub(super) fn migrations_of(kind: Kind) -> &'static Migrator {
    match kind {
        Kind::Sqlite => &SQLITE,
        Kind::Postgres => &POSTGRES,
    }
}

/// Returns the last step of the tables that this version of the program knows; it is the same for both kinds.
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

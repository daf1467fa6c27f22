//! The place of a test's store, and short ways to use one.

use crate::support::postgres::Database;
use causeway::catalogue::Edit;
use causeway::refusal::Refusal;
use causeway::store::{Kind, Store};
use serde_json::{Map, Value};
use sqlx::pool::PoolConnection;
use sqlx::{Any, AssertSqlSafe, Row};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use uuid::Uuid;

/// The deployment of all these stores.
pub const V1: &str = "https://tracker.example";
/// The workspace most tests write to.
pub const WORKSPACE: Uuid = Uuid::from_u128(1);
/// A project of it.
pub const PROJECT: Uuid = Uuid::from_u128(0x10);

/// An empty place for a store.
pub struct Place {
    folder: TempDir,
    database: Option<Database>,
}

impl Place {
    /// A file.
    pub fn sqlite() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder"), database: None }
    }

    /// A database of its own on the server.
    pub async fn postgres() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder"), database: Some(Database::create().await) }
    }

    /// Another place on the same kind of engine.
    pub async fn another(&self) -> Self {
        if self.database.is_some() { Self::postgres().await } else { Self::sqlite() }
    }

    /// A folder for files of the test.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The file of a SQLite store.
    pub fn file(&self) -> PathBuf {
        self.folder.path().join("store.db")
    }

    /// The URL of the store.
    pub fn url(&self) -> String {
        match &self.database {
            Some(database) => database.url(),
            None => format!("sqlite:{}", self.file().display()),
        }
    }

    /// Opens the store; for the database, a second one is a second process.
    pub async fn open(&self) -> Store {
        Store::open(&self.url(), V1).await.expect("the store opens")
    }
}

/// Returns the single number that a statement gives.
pub async fn number(store: &Store, text: &str) -> i64 {
    let row = sqlx::query(AssertSqlSafe(text)).fetch_one(store.engine().pool()).await.expect(text);
    row.try_get(0).expect("a number")
}

/// Runs a statement without the rules of the store.
pub async fn execute(store: &Store, text: &str) {
    sqlx::query(AssertSqlSafe(text)).execute(store.engine().pool()).await.expect(text);
}

/// Edits [`WORKSPACE`] without audit entries.
pub async fn edit<T: Send>(
    store: &Store,
    change: impl FnMut(&mut Edit) -> Result<T, Refusal> + Send,
) -> Result<T, Refusal> {
    edit_boxed(store, Box::new(change)).await
}

type Change<'a, T> = Box<dyn FnMut(&mut Edit) -> Result<T, Refusal> + Send + 'a>;

/// Compiled once for each type of result, not for each change.
async fn edit_boxed<T: Send>(store: &Store, mut change: Change<'_, T>) -> Result<T, Refusal> {
    Ok(store.edit(WORKSPACE, |edit| Ok((change(edit)?, Vec::new()))).await?.0)
}

/// Members of a body.
pub fn given(value: Value) -> Map<String, Value> {
    value.as_object().cloned().expect("an object")
}

/// Checks whether the store is on SQLite.
pub fn is_sqlite(store: &Store) -> bool {
    store.engine().kind() == Kind::Sqlite
}

/// Takes every open connection of the store, for as long as the returned value lives.
pub async fn all_connections(store: &Store) -> Vec<PoolConnection<Any>> {
    let mut all = Vec::new();
    while all.len() < store.engine().connections().0 {
        all.push(store.engine().pool().acquire().await.expect("a connection"));
    }
    all
}

//! Connections to the database that holds the store, of either kind.
//!
//! One SQL text serves both kinds: parameters are written `$1`, ids and JSON are text, times and flags are
//! whole numbers, and what little differs is asked of [`Engine`]. SQLite: write-ahead log, so that readers do
//! not wait for the writer; `synchronous=FULL`, so that what was answered survives a power cut; writers queue
//! in this process and take the file's lock when they begin, because a transaction that first reads and then
//! wants to write is refused at once instead of waiting its turn. PostgreSQL: `synchronous_commit` on, and
//! writers of one workspace queue at its row.
//! May use: this folder.

use super::error::StoreError;
use super::migrations::{POSTGRES, SQLITE};
use super::unchanged::{Ending, Log, Seen, Writes};
use super::writable::{Writable, is_read_only};
use rustix::fs::{Access, access};
use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::{Any, AnyConnection, AnyPool, AssertSqlSafe, ConnectOptions, Connection, Executor, Row, Transaction};
use std::fs::OpenOptions;
use std::future::ready;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::str::FromStr;
use std::sync::{Arc, Once};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::{Mutex, OwnedMutexGuard};

/// How long a writer waits for another one, and anybody for a connection.
const BUSY: Duration = Duration::from_secs(5);
const SQLITE_CONNECTIONS: u32 = 4;
const POSTGRES_CONNECTIONS: u32 = 16;

/// Kind of database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One file, one gateway process.
    Sqlite,
    /// A server, shared by several gateway processes.
    Postgres,
}

impl Kind {
    /// By the scheme of a URL.
    pub fn of(url: &str) -> Option<Self> {
        match url.split_once(':')?.0 {
            "sqlite" => Some(Self::Sqlite),
            "postgres" | "postgresql" => Some(Self::Postgres),
            _ => None,
        }
    }

    /// A subselect of the elements of a JSON array of strings given as one parameter, such as `$2`.
    pub fn elements(self, parameter: &str) -> String {
        match self {
            Self::Sqlite => format!("(SELECT value FROM json_each({parameter}))"),
            Self::Postgres => format!("(SELECT jsonb_array_elements_text({parameter}::jsonb))"),
        }
    }
}

/// The pool of connections.
#[derive(Debug, Clone)]
pub struct Engine {
    kind: Kind,
    pool: AnyPool,
    /// Stands in for the pool while the tables wait to be brought up to date: closed, so that it refuses at once.
    shut: AnyPool,
    /// Writers of this process, one at a time; SQLite has one writer anyhow, and a queue is fairer than
    /// polling for its lock.
    turn: Option<Arc<Mutex<()>>>,
    /// The URL of a SQLite store that is opened for reading where it cannot be written.
    file: Option<Arc<str>>,
    /// Whether the URL itself has a file opened for reading.
    only_reads: bool,
    pub(super) writable: Arc<Writable>,
    writes: Writes,
    log: Log,
}

/// A transaction that writes; rolled back unless committed.
pub struct Writing {
    transaction: Transaction<'static, Any>,
    ending: Ending,
    _turn: Option<OwnedMutexGuard<()>>,
}

impl Engine {
    /// Opens the database, creating a missing SQLite file. Tables are made by [`Engine::migrate`].
    pub(super) async fn open(url: &str) -> Result<Self, StoreError> {
        static DRIVERS: Once = Once::new();
        DRIVERS.call_once(sqlx::any::install_default_drivers);
        let Some(kind) = Kind::of(url) else {
            let scheme = url.split_once(':').map_or(url, |(scheme, _)| scheme);
            return Err(StoreError::UnknownKind { url: scheme.into() });
        };
        let (writable, file) = (Arc::<Writable>::default(), chosen_by_us(kind, url).then(|| url.into()));
        let target = target_of(kind, url, &writable)?;
        // A pool tries again and again until its time is up; one connection says at once what is wrong.
        drop(connected(kind, &target).await?);
        let shut = AnyPoolOptions::new().connect_lazy_with(target.clone());
        shut.close().await;
        let pool = pool_options(kind, url, &writable).connect_with(target).await?;
        let turn = (kind == Kind::Sqlite).then(Arc::default);
        let only_reads = kind == Kind::Sqlite && url.contains(READ_ONLY);
        Ok(Self {
            kind,
            pool,
            shut,
            turn,
            file,
            only_reads,
            writable,
            writes: Writes::default(),
            log: Log::of(url),
        })
    }

    /// Where the next connections lead; none for a file that can still only be read.
    pub(super) fn target(&self) -> Result<Option<AnyConnectOptions>, StoreError> {
        let Some(url) = &self.file else { return Ok(Some(AnyConnectOptions::clone(&self.pool.connect_options()))) };
        // SQLite takes a write transaction on a file opened for reading for one that reads.
        let address = creating(url);
        if address.contains(READ_ONLY) { Ok(None) } else { options_of(&address).map(Some) }
    }

    /// Later connections lead to `target`.
    pub(super) fn renew(&self, target: AnyConnectOptions) {
        self.pool.set_connect_options(target);
    }

    /// Whether the store can only be read, as far as is known.
    pub fn is_read_only(&self) -> bool {
        self.only_reads || self.writable.is_lost()
    }

    /// Creates or changes the tables to what this version needs.
    ///
    /// # Errors
    /// [`StoreError::Schema`] when a newer version has been here.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        match self.take_steps().await.map_err(StoreError::from) {
            // A store that cannot be written at present is still read, when there is nothing to change in it.
            Err(StoreError::Unavailable(cause)) => match self.tables_version().await {
                Ok(version) if self.migrations().iter().all(|step| step.version < version) => {
                    Err(StoreError::Schema(format!("a newer one has made step {version} of its tables")))
                }
                Ok(version) if version > 0 && self.steps_after(version).is_empty() => Ok(()),
                _ => Err(StoreError::Unavailable(cause)),
            },
            other => other,
        }
    }

    async fn take_steps(&self) -> Result<(), MigrateError> {
        let mut connection = self.pool.acquire().await?;
        let outcome = self.migrations().run_direct(None, &mut *connection, false).await;
        if outcome.is_err() && self.kind == Kind::Postgres {
            // It may hold the lock of those who migrate, and would keep it for as long as it lives.
            let _ = connection.close().await;
        }
        outcome
    }

    fn migrations(&self) -> &'static Migrator {
        match self.kind {
            Kind::Sqlite => &SQLITE,
            Kind::Postgres => &POSTGRES,
        }
    }

    /// The last migration this database has had; 0 for none.
    pub(super) async fn tables_version(&self) -> Result<i64, StoreError> {
        let there = match self.kind {
            Kind::Sqlite => "SELECT COUNT(*) FROM sqlite_master WHERE name = '_sqlx_migrations'",
            Kind::Postgres => "SELECT COUNT(*) FROM pg_class WHERE oid = to_regclass('_sqlx_migrations')",
        };
        let there: i64 = sqlx::query(there).fetch_one(&self.pool).await?.try_get(0)?;
        if there == 0 {
            return Ok(0);
        }
        let last = "SELECT COALESCE(MAX(version), 0) FROM _sqlx_migrations";
        Ok(sqlx::query(last).fetch_one(&self.pool).await?.try_get(0)?)
    }

    /// Names of the migrations that come after `version`.
    pub(super) fn steps_after(&self, version: i64) -> Vec<String> {
        let steps = self.migrations().iter().filter(|step| step.version > version);
        steps.map(|step| format!("{:04} {}", step.version, step.description)).collect()
    }

    /// Kind of database.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The pool, for single statements. While the tables are those of an older version it is a closed one, so that
    /// nothing is read from them or written to them.
    pub fn pool(&self) -> &AnyPool {
        self.look_again_beside();
        self.usable()
    }

    fn usable(&self) -> &AnyPool {
        if self.writable.is_behind() { &self.shut } else { &self.pool }
    }

    /// The pool, whatever version the tables are of.
    pub(super) fn pool_of_any_version(&self) -> &AnyPool {
        &self.pool
    }

    /// A transaction that only reads and sees one state of the store throughout.
    ///
    /// # Errors
    /// When there is no connection.
    pub async fn reading(&self) -> Result<Transaction<'static, Any>, StoreError> {
        let begin = match self.kind {
            Kind::Sqlite => "BEGIN DEFERRED",
            Kind::Postgres => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        };
        Ok(self.pool().begin_with(begin).await?)
    }

    /// A transaction that writes.
    ///
    /// # Errors
    /// When there is no connection, or the store cannot be written.
    pub async fn writing(&self) -> Result<Writing, StoreError> {
        let turn = match &self.turn {
            Some(turn) => Some(Arc::clone(turn).lock_owned().await),
            None => None,
        };
        let begin = match self.kind {
            Kind::Sqlite => "BEGIN IMMEDIATE",
            Kind::Postgres => "BEGIN",
        };
        self.look_again().await;
        let ending = self.writes.ending();
        Ok(Writing { transaction: self.usable().begin_with(begin).await?, ending, _turn: turn })
    }

    /// How the file of a store in SQLite is now; where others may write at any time there is nothing to see.
    pub(super) fn seen(&self) -> Option<Seen> {
        (self.kind == Kind::Sqlite).then(|| self.log.look(&self.writes))
    }

    /// Closes all connections once work under way is done.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}

impl Writing {
    /// Makes the writes last.
    ///
    /// # Errors
    /// When that cannot be done; then nothing was written.
    pub async fn commit(self) -> Result<(), StoreError> {
        let Self { transaction, ending, _turn } = self;
        let outcome = transaction.commit().await;
        // Also after a failure, for the database may have written all the same.
        drop(ending);
        Ok(outcome?)
    }

    /// Undoes the writes now; dropping does so later, when the connection is used again.
    ///
    /// # Errors
    /// When the connection is gone; then nothing was written either.
    pub async fn rollback(self) -> Result<(), StoreError> {
        Ok(self.transaction.rollback().await?)
    }
}

impl Deref for Writing {
    type Target = AnyConnection;

    fn deref(&self) -> &AnyConnection {
        &self.transaction
    }
}

impl DerefMut for Writing {
    fn deref_mut(&mut self) -> &mut AnyConnection {
        &mut self.transaction
    }
}

/// SQL put together from constants of this folder; values always travel as parameters.
pub(super) fn sql(text: String) -> AssertSqlSafe<String> {
    AssertSqlSafe(text)
}

/// Where connections to the store at `url` lead.
fn target_of(kind: Kind, url: &str, writable: &Writable) -> Result<AnyConnectOptions, StoreError> {
    let address = if kind == Kind::Sqlite { creating(url) } else { url.to_owned() };
    if chosen_by_us(kind, url) && address.contains(READ_ONLY) {
        writable.lost();
    }
    options_of(&address)
}

fn options_of(address: &str) -> Result<AnyConnectOptions, StoreError> {
    // Statements are logged by their callers, who know what they mean.
    Ok(AnyConnectOptions::from_str(address)?.disable_statement_logging())
}

/// One connection, ready for use.
pub(super) async fn connected(kind: Kind, target: &AnyConnectOptions) -> Result<AnyConnection, StoreError> {
    let mut connection = target.connect().await?;
    prepare(kind, &mut connection).await?;
    Ok(connection)
}

async fn prepare(kind: Kind, connection: &mut AnyConnection) -> Result<(), sqlx::Error> {
    match kind {
        Kind::Sqlite => {
            // The journal mode is a property of the file and cannot be set on a read-only one; it is then
            // what the writer left.
            connection.execute("PRAGMA busy_timeout = 5000").await?;
            let _ = connection.execute("PRAGMA journal_mode = WAL").await;
            connection.execute("PRAGMA synchronous = FULL").await?;
            connection.execute("PRAGMA foreign_keys = ON").await?;
        }
        Kind::Postgres => {
            connection.execute("SET synchronous_commit = on").await?;
            connection.execute("SET lock_timeout = 5000").await?;
        }
    }
    Ok(())
}

/// Whether it is found out here how a store can be opened, and not said by whoever configured it.
fn chosen_by_us(kind: Kind, url: &str) -> bool {
    kind == Kind::Sqlite && !in_memory(url) && !url.contains("mode=")
}

/// How a file that cannot be written is opened.
const READ_ONLY: &str = "mode=ro";

/// The URL that creates a missing file, which is made for the owner's eyes only: SQLite gives its side files
/// the same rights. If that fails, opening the store fails too and says why.
fn creating(url: &str) -> String {
    if !chosen_by_us(Kind::Sqlite, url) {
        return url.to_owned();
    }
    let file = url.trim_start_matches("sqlite:").trim_start_matches("//");
    let file = file.split('?').next().unwrap_or(file);
    keep_private(Path::new(file));
    let sign = if url.contains('?') { '&' } else { '?' };
    let mode = if writable(file) {
        "mode=rwc"
    } else if std::fs::metadata(format!("{file}-wal")).is_ok_and(|log| log.len() > 0) {
        // What is in the log counts, and the files beside it are there already.
        "mode=ro"
    } else {
        // The files a reader shares with writers cannot be made, and there is no writer to share them with.
        "mode=ro&immutable=true"
    };
    format!("{url}{sign}{mode}")
}

/// Whether the file and those beside it can be written; if not it is opened for reading, so that reads go on.
/// A file that cannot be opened at all counts as writable, so that opening it says why.
///
/// None of SQLite's own files is opened for that: closing it would end every lock that this process has on it, and
/// another process would take the file for one that nobody uses.
fn writable(file: &str) -> bool {
    let may = |file: &str, wanted: Access| access(file, wanted).is_ok();
    if !may(file, Access::READ_OK) {
        return true;
    }
    let probe = || {
        let probe = format!("{file}.{}", std::process::id());
        let made = OpenOptions::new().write(true).create_new(true).open(&probe).is_ok();
        let _ = std::fs::remove_file(probe);
        made
    };
    let beside = format!("{file}-shm");
    may(file, Access::WRITE_OK) && (Path::new(&beside).is_file() && may(&beside, Access::WRITE_OK) || probe())
}

fn keep_private(file: &Path) {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let _ = options.open(file);
}

fn in_memory(url: &str) -> bool {
    url.contains(":memory:") || url.contains("mode=memory")
}

/// A store in memory lives in its connection: one, and never closed.
fn pool_options(kind: Kind, url: &str, writable: &Arc<Writable>) -> AnyPoolOptions {
    let (opened, used) = (Arc::clone(writable), Arc::clone(writable));
    let options = AnyPoolOptions::new()
        .acquire_timeout(BUSY)
        .after_connect(move |connection, _| {
            let opened = Arc::clone(&opened);
            Box::pin(async move {
                prepare(kind, connection).await?;
                if kind == Kind::Postgres && is_read_only(connection).await? {
                    opened.lost();
                }
                Ok(())
            })
        })
        .before_acquire(move |_, connection| Box::pin(ready(Ok(used.is_current(connection.age)))));
    if in_memory(url) {
        // Whoever leaves while the connection is tried before its use takes it along, and the store with it.
        let options = options.max_connections(1).min_connections(1).test_before_acquire(false);
        return options.idle_timeout(None).max_lifetime(None);
    }
    match kind {
        Kind::Postgres => options.max_connections(POSTGRES_CONNECTIONS),
        // A file does not go away between two uses, as a server does, so it need not be tried before each.
        Kind::Sqlite => options
            .max_connections(SQLITE_CONNECTIONS)
            .test_before_acquire(false)
            .after_release(|connection, _| Box::pin(ended(connection))),
    }
}

/// Whether a connection that comes back has no transaction. SQLite ends one by itself when the disk is full or fails,
/// and then the driver still counts it as begun: such a connection would refuse every later transaction. One that was
/// only read through has none and need not be asked.
async fn ended(connection: &mut AnyConnection) -> Result<bool, sqlx::Error> {
    if connection.is_in_transaction() {
        connection.ping().await?;
    }
    Ok(!connection.is_in_transaction())
}

/// A list as one parameter, for [`Kind::elements`].
pub(super) fn json_list(items: impl Iterator<Item = String>) -> String {
    serde_json::Value::from_iter(items).to_string()
}

/// Microseconds since 1970.
pub(super) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64)
}

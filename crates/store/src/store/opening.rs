//! How a database is opened: what its URL says, the file of a SQLite store, and what each connection is told first.
//!
//! May use: `kind`, `error`, `place`, `writable`.

use super::error::StoreError;
use super::kind::Kind;
use super::place::{file_of, in_memory, private};
use super::writable::{Writable, is_read_only};
use rustix::fs::{Access, access};
use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::{AnyConnection, ConnectOptions, Connection, Executor};
use std::fs::OpenOptions;
use std::future::ready;
use std::io::ErrorKind;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// How long a writer waits for another one, and anybody for a connection.
const BUSY: Duration = Duration::from_secs(5);
const SQLITE_CONNECTIONS: u32 = 4;
const POSTGRES_CONNECTIONS: u32 = 16;

/// Where connections to the store at `url` lead.
pub(super) fn target_of(kind: Kind, url: &str, writable: &Writable) -> Result<AnyConnectOptions, StoreError> {
    let address = if kind == Kind::Sqlite { creating(url) } else { url.to_owned() };
    if chosen_by_us(kind, url) && address.contains(READ_ONLY) {
        writable.lost();
    }
    options_of(&address)
}

pub(super) fn options_of(address: &str) -> Result<AnyConnectOptions, StoreError> {
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
            for statement in NOTICING_LOST_CLIENTS {
                let _ = connection.execute(statement).await;
            }
        }
    }
    Ok(())
}

/// By these PostgreSQL finds out within half a minute that the machine of a gateway is gone, which says no goodbye, and
/// gives back what the session had to itself. They have no effect where there is no TCP, and where a server does not know
/// them.
pub(super) const NOTICING_LOST_CLIENTS: [&str; 2] = [
    "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3",
    "SET tcp_user_timeout = 25000",
];

/// Whether it is found out here how a store can be opened, and not said in the settings.
pub(super) fn chosen_by_us(kind: Kind, url: &str) -> bool {
    kind == Kind::Sqlite && !in_memory(url) && !url.contains("mode=")
}

/// How a file that cannot be written is opened.
pub(super) const READ_ONLY: &str = "mode=ro";

/// The URL that creates a missing file, which is made for the owner's eyes only: SQLite gives its side files
/// the same rights. If that fails, opening the store fails too and says why.
pub(super) fn creating(url: &str) -> String {
    if !chosen_by_us(Kind::Sqlite, url) {
        return url.to_owned();
    }
    let Some(path) = file_of(url) else { return url.to_owned() };
    let _ = private().create_new(true).open(&path);
    let file = &path.display().to_string();
    let sign = if url.contains('?') { '&' } else { '?' };
    let mode = if writable(file) {
        "mode=rwc"
    } else if std::fs::metadata(format!("{file}-wal")).is_ok_and(|log| log.len() > 0) {
        // The content of the log counts, and the files beside it are there already.
        "mode=ro"
    } else {
        // The files a reader shares with writers cannot be made, and there is no writer to share them with.
        "mode=ro&immutable=true"
    };
    format!("{url}{sign}{mode}")
}

/// Whether the store at `url` is a file that can only be read now, where that is found out here. It is not made.
pub(super) fn is_only_read(kind: Kind, url: &str) -> bool {
    chosen_by_us(kind, url) && file_of(url).is_some_and(|file| !writable(&file.display().to_string()))
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
    if is_stopped(Path::new(file)) {
        return false;
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

/// Whether the file system that `file` is on takes no more writes. After a fault of its disk (`errors=remount-ro`) a
/// file system says so to whoever opens a file for writing, and on newer kernels to nobody who asks for rights. What is
/// opened here is the file that gateways lock: SQLite has no locks on it, and those of gateways outlast that it is closed.
pub fn is_stopped(file: &Path) -> bool {
    let opened = OpenOptions::new().write(true).open(file.with_added_extension("lock"));
    opened.is_err_and(|fault| fault.kind() == ErrorKind::ReadOnlyFilesystem)
}

/// A store in memory lives in its connection: one, and never closed.
pub(super) fn pool_options(kind: Kind, url: &str, writable: &Arc<Writable>) -> AnyPoolOptions {
    let (opened, used, address) = (Arc::clone(writable), Arc::clone(writable), Arc::<str>::from(url));
    let options = AnyPoolOptions::new()
        .acquire_timeout(BUSY)
        .after_connect(move |connection, _| {
            let (opened, address) = (Arc::clone(&opened), Arc::clone(&address));
            Box::pin(async move {
                prepare(kind, connection).await?;
                // Either stays so for as long as the connection lives.
                let is_only_read = match kind {
                    Kind::Sqlite => is_only_read(kind, &address),
                    Kind::Postgres => is_read_only(connection).await?,
                };
                if is_only_read {
                    opened.lost();
                }
                Ok(())
            })
        })
        .before_acquire(move |_, connection| Box::pin(ready(Ok(used.is_current(connection.age)))));
    if in_memory(url) {
        // A caller that leaves while the connection is tried before its use takes it along, and the store with it.
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

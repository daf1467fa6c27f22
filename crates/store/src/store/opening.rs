//! How a database is opened: where connections lead, and what each is told first.
//!
//! May use: `kind`, `error`, `file_mode`, `writable`.

use super::error::StoreError;
use super::file_mode::{READ_ONLY, chosen_by_us, creating};
use super::kind::Kind;
use super::writable::Writable;
use sqlx::any::AnyConnectOptions;
use sqlx::{AnyConnection, ConnectOptions, Executor};
use std::str::FromStr;

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

pub(super) async fn prepare(kind: Kind, connection: &mut AnyConnection) -> Result<(), sqlx::Error> {
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

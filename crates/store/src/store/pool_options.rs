//! The number of connections to a store, and the conditions for using a connection again.
//!
//! May use: this folder.

use super::file_mode::is_only_read;
use super::kind::Kind;
use super::opening::{BUSY, prepare};
use super::place::in_memory;
use super::writable::{Writable, is_read_only};
use sqlx::any::AnyPoolOptions;
use sqlx::{AnyConnection, Connection};
use std::future::ready;
use std::sync::Arc;

const SQLITE_CONNECTIONS: u32 = 4;
const POSTGRES_CONNECTIONS: u32 = 16;

/// Returns the options of a pool. A store in memory lives in its connection: there is one, and it is never closed.
pub(super) fn pool_options(kind: Kind, url: &str, writable: &Arc<Writable>) -> AnyPoolOptions {
    let (opened, used, address) = (Arc::clone(writable), Arc::clone(writable), Arc::<str>::from(url));
    let options = AnyPoolOptions::new()
        .acquire_timeout(BUSY)
        .after_connect(move |connection, _| {
            let (opened, address) = (Arc::clone(&opened), Arc::clone(&address));
            Box::pin(async move {
                prepare(kind, connection).await?;
                // The answer stays valid for as long as the connection lives.
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
        // If a caller is dropped while the connection is tested before use, the connection is lost, and the store too.
        let options = options.max_connections(1).min_connections(1).test_before_acquire(false);
        return options.idle_timeout(None).max_lifetime(None);
    }
    match kind {
        Kind::Postgres => options.max_connections(POSTGRES_CONNECTIONS),
        // Unlike a server, a file does not go away between two uses, so the connection is not tested before each use.
        Kind::Sqlite => options
            .max_connections(SQLITE_CONNECTIONS)
            .test_before_acquire(false)
            .after_release(|connection, _| Box::pin(ended(connection))),
    }
}

/// Checks whether a returned connection has no transaction. SQLite ends a transaction by itself when the disk is full
/// or fails, but the driver still counts it as begun: such a connection would reject every later transaction. A
/// connection without a transaction need not be checked further.
async fn ended(connection: &mut AnyConnection) -> Result<bool, sqlx::Error> {
    if connection.is_in_transaction() {
        connection.ping().await?;
    }
    Ok(!connection.is_in_transaction())
}

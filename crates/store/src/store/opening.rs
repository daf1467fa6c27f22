//! Opening a database: the target of its connections, and the settings that each connection gets first.
//!
//! May use: `kind`, `error`, `file_mode`, `place`, `writable`.

use super::error::StoreError;
use super::file_mode::{READ_ONLY, creating, mode_is_automatic};
use super::kind::Kind;
use super::place::{makes_no_file, opening, tls_of};
use super::writable::Writable;
use sqlx::any::AnyConnectOptions;
use sqlx::postgres::PgSslMode;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AnyConnection, ConnectOptions, Executor};
use std::io::{Error, ErrorKind};
use std::str::FromStr;
use std::time::Duration;
use tokio::time::timeout;

/// Maximum time that a caller waits for a connection; `prepare` lets writers wait as long for a lock.
pub(super) const BUSY: Duration = Duration::from_secs(5);

/// Returns the target of connections to the store at `url`, and creates a missing SQLite file.
pub(super) fn target_of(kind: Kind, url: &str, writable: &Writable) -> Result<AnyConnectOptions, StoreError> {
    if kind == Kind::Sqlite {
        SqliteConnectOptions::from_str(url)?;
    }
    let address = if kind == Kind::Sqlite { creating(url) } else { url.to_owned() };
    if mode_is_automatic(kind, url) && address.contains(READ_ONLY) {
        writable.lost();
    }
    let mut target = options_of(&address)?;
    if kind == Kind::Postgres
        && let Some(host) = ipv6_of(&target)
    {
        target.database_url.query_pairs_mut().append_pair("host", &host);
    }
    Ok(target)
}

/// Returns the IPv6 address that a URL has as its host, without the brackets, because the driver takes an address with
/// brackets for a name. Returns none for other hosts, and for a URL with a host in its query.
fn ipv6_of(target: &AnyConnectOptions) -> Option<String> {
    let url = &target.database_url;
    let host = url.host_str()?.strip_prefix('[')?.strip_suffix(']')?;
    let has_another = url.query_pairs().any(|(name, _)| name == "host" || name == "hostaddr");
    (!has_another).then(|| host.to_owned())
}

pub(super) fn options_of(address: &str) -> Result<AnyConnectOptions, StoreError> {
    // The callers log their statements, because they know the meaning.
    Ok(AnyConnectOptions::from_str(address)?.disable_statement_logging())
}

/// Checks the URL of a SQLite store whose file is missing, without creating the file.
///
/// # Errors
/// [`StoreError::Unavailable`] for parameters that SQLite does not know, and for a mode that creates no file.
pub fn check_address_of_missing_file(url: &str) -> Result<(), StoreError> {
    let read = SqliteConnectOptions::from_str(url).map(drop).map_err(StoreError::from);
    let made = read.and_then(|()| match makes_no_file(url) {
        true => Err(StoreError::Unavailable("unable to open database file".into())),
        false => Ok(()),
    });
    made.map_err(|fault| opening(fault, url))
}

/// Connects once and returns the target of later connections. A pool retries until its timeout; a single connection
/// fails at once with the cause.
///
/// Where TLS is only preferred, as it is by default, and fails, the target is without TLS. The driver itself does not
/// try that, unlike other clients of PostgreSQL.
pub(super) async fn tried(kind: Kind, target: AnyConnectOptions) -> Result<AnyConnectOptions, StoreError> {
    let refused = match connected(kind, &target).await {
        Ok(_) => return Ok(target),
        Err(refused) => refused,
    };
    if may_be_about_tls(&refused)
        && let Some(plain) = without_tls(kind, &target)
        && connected(kind, &plain).await.is_ok()
    {
        tracing::warn!(
            cause = %refused,
            "TLS to the database of the store fails; it is used without TLS (sslmode in the setting store.url decides)"
        );
        return Ok(plain);
    }
    Err(refused.into())
}

/// Checks whether a server that refused a connection with TLS may accept one without it: errors of TLS itself, and
/// users that pg_hba.conf does not admit.
fn may_be_about_tls(refused: &sqlx::Error) -> bool {
    match refused {
        sqlx::Error::Tls(_) => true,
        sqlx::Error::Io(cause) => cause.kind() == ErrorKind::InvalidData,
        sqlx::Error::Database(cause) => cause.code().as_deref() == Some("28000"),
        _ => false,
    }
}

/// Returns the same target without TLS; none where TLS is demanded or not used.
fn without_tls(kind: Kind, target: &AnyConnectOptions) -> Option<AnyConnectOptions> {
    if kind == Kind::Sqlite || !matches!(tls_of(target.database_url.as_str()), Some(PgSslMode::Prefer)) {
        return None;
    }
    let mut plain = target.clone();
    // Of two values, the last one counts.
    plain.database_url.query_pairs_mut().append_pair("sslmode", "disable");
    Some(plain)
}

/// Opens one connection and prepares it for use. A server may accept a connection and then say nothing.
pub(super) async fn connected(kind: Kind, target: &AnyConnectOptions) -> Result<AnyConnection, sqlx::Error> {
    let opening = async {
        let mut connection = target.connect().await?;
        prepare(kind, &mut connection).await?;
        Ok::<_, sqlx::Error>(connection)
    };
    if kind == Kind::Sqlite {
        return opening.await;
    }
    let silent = |_| Err(Error::new(ErrorKind::TimedOut, format!("no answer within {BUSY:?}")).into());
    timeout(BUSY, opening).await.unwrap_or_else(silent)
}

pub(super) async fn prepare(kind: Kind, connection: &mut AnyConnection) -> Result<(), sqlx::Error> {
    match kind {
        Kind::Sqlite => {
            // The journal mode is a property of the file. It cannot be set on a read-only file, which keeps the mode
            // of its writer.
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

/// Settings with which PostgreSQL notices within half a minute that the machine of a gateway is gone without closing
/// its connection, and then releases the locks of the session. They have no effect without TCP, or on a server that
/// does not know them.
pub(super) const NOTICING_LOST_CLIENTS: [&str; 2] = [
    "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3",
    "SET tcp_user_timeout = 25000",
];

#[cfg(test)]
mod tests {
    use super::*;
    use sqlx::postgres::PgConnectOptions;

    #[test]
    fn an_ipv6_address_is_no_name() {
        for (url, host) in [
            ("postgres://u@[::1]:5433/c", "::1"),
            ("postgres://u@[::1]/c?sslmode=disable", "::1"),
            ("postgres://u@[::1]/c?host=db", "db"),
            ("postgres://u@db/c", "db"),
        ] {
            let target = target_of(Kind::Postgres, url, &Writable::default()).unwrap();
            assert_eq!(PgConnectOptions::from_url(&target.database_url).unwrap().get_host(), host, "{url}");
        }
    }
}

//! Errors of the store.
//!
//! May use: `refusal`, `v1` (base URL).

use crate::refusal::Refusal;
use crate::v1::BaseUrlError;
use sqlx::migrate::MigrateError;
use sqlx::postgres::PgDatabaseError;

/// A failure of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The store's URL has a scheme that this program does not know.
    #[error(
        "{url:?} names no store: use sqlite:PATH, for example sqlite:/var/lib/causeway/store.db, or \
         postgres://USER@HOST/DATABASE"
    )]
    UnknownKind {
        /// Scheme of the URL, or the whole URL when it has none; never its credentials.
        url: String,
    },
    /// The configured v1 base URL cannot be used.
    #[error(transparent)]
    BaseUrl(#[from] BaseUrlError),
    /// The store belongs to another deployment.
    #[error(
        "this store (setting store.url) belongs to the v1 deployment at {recorded}, but the configured one is {configured}. Its \
         records would be attached to the wrong data. Configure {recorded} again, or use another store; if the \
         same deployment has only moved, say so with `causeway store rebase --to {configured}`"
    )]
    OtherDeployment {
        /// Base URL of the deployment that the store belongs to.
        recorded: String,
        /// Base URL that is configured now.
        configured: String,
    },
    /// The file of a SQLite store does not exist.
    #[error("there is no store at {}; see --store", .0.display())]
    Missing(std::path::PathBuf),
    /// The user of this process may not see the file of a SQLite store, or not read it.
    #[error(
        "the user that runs this may not {right} of the store {}; run the command as the user of the gateway",
        file.display()
    )]
    Forbidden {
        /// The file, which need not exist.
        file: std::path::PathBuf,
        /// The right that the user lacks.
        right: &'static str,
    },
    /// The database at this place has no tables of a gateway.
    #[error(
        "{0} holds no store of a gateway: it is empty, or belongs to another program; see --store. A new store gets \
         its tables with `causeway store migrate`"
    )]
    Foreign(String),
    /// The store belongs to no deployment yet.
    #[error("the store belongs to no v1 deployment yet; it will belong to the first that a gateway serves with it")]
    Unclaimed,
    /// The target file of a copy exists already.
    #[error("{0} exists already and was left as it is; name a new file")]
    Occupied(String),
    /// The target file of a copy cannot be written.
    #[error(
        "the copy {file} cannot be written: {cause}; name a new file in a folder that can be written and has room"
    )]
    NoCopy {
        /// The file of the copy.
        file: String,
        /// Error of the operating system.
        cause: String,
    },
    /// A newer version of this program has changed the store, or its migration history was tampered with.
    #[error("the store cannot be used by this version of the program: {0}")]
    Schema(String),
    /// The store cannot be read or written at present: disk full, read-only, locked, no access.
    #[error("the store cannot be used: {0}")]
    Unavailable(String),
    /// The database did not say whether it has committed a transaction.
    #[error("the store may have written, or may not: {0}")]
    Undecided(String),
    /// Another gateway serves this SQLite file.
    #[error(
        "another gateway serves the store {}: a SQLite file belongs to one process. Stop the other one, or let both \
         use a PostgreSQL database (setting store.url)",
        file.display()
    )]
    Served {
        /// The file.
        file: std::path::PathBuf,
    },
    /// The lock of a SQLite file cannot be opened.
    #[error(
        "the lock {} of the store cannot be opened: {cause}; let the user that runs this write it, or move it away while \
         no gateway serves the store",
        lock.display()
    )]
    NoLock {
        /// The file of the lock.
        lock: std::path::PathBuf,
        /// Error of the operating system.
        cause: String,
    },
    /// The command would change the store while a gateway serves it.
    #[error("a gateway serves this store; stop it, and all others that share it, then run the command again")]
    InUse,
    /// Messages that PostgreSQL sends by itself do not arrive.
    #[error(
        "the store answers, but its notifications do not arrive: there seems to be a pooler in transaction mode between \
         (PgBouncer, for example). Connect to PostgreSQL itself, or to a pooler in session mode"
    )]
    Pooled,
    /// The store is damaged.
    #[error("the store is damaged; restore it from a backup: {0}")]
    Damaged(String),
    /// Another writer or a uniqueness rule conflicted with the write. Nothing was written; a retry may help.
    #[error("the store's rules refused a write: {0}")]
    Contended(String),
    /// A fault of this program.
    #[error("the store refused a statement: {0}")]
    Internal(String),
}

impl StoreError {
    /// Creates the error for stored text that this program cannot have written.
    pub(super) fn unreadable(what: &str, text: &str) -> Self {
        Self::Damaged(format!("{what} {text:?} cannot be read"))
    }

    /// Converts the error of a write to this store alone into the client's answer: the write may have been carried out.
    pub fn into_write_refusal(self) -> Refusal {
        match self {
            Self::Undecided(cause) => {
                Refusal::outcome_unknown("The store of the gateway did not answer.", cause, false)
            }
            other => other.into(),
        }
    }
}

/// For commands, which report errors as a sentence.
impl From<StoreError> for String {
    fn from(error: StoreError) -> Self {
        error.to_string()
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(_)
            | StoreError::Undecided(_)
            | StoreError::Damaged(_)
            | StoreError::Contended(_) => Refusal::StoreUnavailable { cause: error.to_string() },
            _ => Refusal::internal(error),
        }
    }
}

impl From<MigrateError> for StoreError {
    fn from(error: MigrateError) -> Self {
        match error {
            MigrateError::Execute(cause) | MigrateError::ExecuteMigration(cause, _) => cause.into(),
            other => Self::Schema(other.to_string()),
        }
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(cause) if cause.try_downcast_ref::<PgDatabaseError>().is_some() => {
                // The text of sqlx adds a line number of PostgreSQL's source.
                of_postgres(cause.code().as_deref(), cause.message().to_owned())
            }
            sqlx::Error::Database(cause) => of_sqlite(cause.code().as_deref(), error.to_string()),
            sqlx::Error::PoolClosed => Self::Unavailable("it cannot be used at present".into()),
            sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::PoolTimedOut | sqlx::Error::WorkerCrashed => {
                Self::Unavailable(error.to_string())
            }
            sqlx::Error::Configuration(cause) => Self::Unavailable(format!("its address cannot be read: {cause}")),
            _ => Self::Internal(error.to_string()),
        }
    }
}

/// Checks whether a failed COMMIT has certainly written nothing. A server that shuts down, a pooler that lost its
/// server and a damaged server also answer with an error, but do not know.
pub(super) fn is_undone(commit: &sqlx::Error) -> bool {
    let sqlx::Error::Database(cause) = commit else { return false };
    let code = cause.code().unwrap_or_default();
    if cause.try_downcast_ref::<PgDatabaseError>().is_none() {
        return !is_left_open(&code);
    }
    !(code == "40003" || ["08", "57", "58", "XX"].iter().any(|class| code.starts_with(class)))
}

/// Checks whether a commit of SQLite failed because the disk is full (code 13). All other writes fail for this reason as
/// well, so it is enough to look at commits.
pub(super) fn is_of_full_disk(commit: &sqlx::Error) -> bool {
    let sqlx::Error::Database(cause) = commit else { return false };
    cause.try_downcast_ref::<PgDatabaseError>().is_none() && cause.code().is_some_and(|code| code == "13")
}

/// Checks whether SQLite may have written a transaction to its log although COMMIT failed with this code. When the
/// disk does not confirm the log, or fails afterwards, the next process that opens the file finds the transaction in
/// the log. When the log itself could not be written, the end of the transaction is missing, and it does not count.
fn is_left_open(code: &str) -> bool {
    const INPUT_OUTPUT: u32 = 10;
    const WRITE: u32 = INPUT_OUTPUT | (3 << 8);
    code.parse::<u32>().is_ok_and(|code| code & 0xff == INPUT_OUTPUT && code != WRITE)
}

/// Classifies an error by the class of its SQLSTATE.
fn of_postgres(code: Option<&str>, text: String) -> StoreError {
    let code = code.unwrap_or_default();
    match code.get(..2).unwrap_or_default() {
        // Unique violations, serialisation failures and deadlocks.
        _ if code == "23505" => StoreError::Contended(text),
        "40" => StoreError::Contended(text),
        // A missing privilege.
        _ if code == "42501" => StoreError::Unavailable(text),
        // No connection, no authorisation, no such database, read-only, out of resources, stopped, not available,
        // system error.
        "08" | "28" | "3D" | "25" | "53" | "55" | "57" | "58" => StoreError::Unavailable(text),
        "XX" => StoreError::Damaged(text),
        _ => StoreError::Internal(text),
    }
}

/// Classifies an error by SQLite's primary result code, which is the low byte of the extended one.
fn of_sqlite(code: Option<&str>, text: String) -> StoreError {
    let extended = code.and_then(|code| code.parse::<u32>().ok());
    match extended.map(|code| code & 0xff) {
        // No permission, busy, locked, read-only, input/output error, full, cannot open, not authorised.
        Some(3 | 5 | 6 | 8 | 10 | 13 | 14 | 23) => StoreError::Unavailable(text),
        // Corrupt, not a database.
        Some(11 | 26) => StoreError::Damaged(text),
        // A constraint (19): uniqueness or primary key.
        Some(19) if matches!(extended, Some(1555 | 2067)) => StoreError::Contended(text),
        _ => StoreError::Internal(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_that_fails_after_the_log_was_written_may_count() {
        // The log did not reach the disk, or the files beside it could not grow.
        for code in ["10", "1034", "4874", "5386"] {
            assert!(is_left_open(code), "{code}");
        }
        // Busy, read-only, the log not written, full, a constraint.
        for code in ["5", "8", "778", "13", "19", ""] {
            assert!(!is_left_open(code), "{code}");
        }
    }

    #[test]
    fn temporary_store_errors_are_503_and_own_faults_are_500() {
        // Extended codes too: 1032 is "read-only, moved", 266 "input/output error, read".
        for (code, expected) in [
            ("5", "store_unavailable"),
            ("8", "store_unavailable"),
            ("1032", "store_unavailable"),
            ("13", "store_unavailable"),
            ("266", "store_unavailable"),
            ("11", "store_unavailable"),
            ("26", "store_unavailable"),
            ("1", "internal_error"),
            ("1555", "store_unavailable"),
            ("787", "internal_error"),
        ] {
            assert_eq!(Refusal::from(of_sqlite(Some(code), String::new())).code(), expected, "{code}");
        }
        assert_eq!(Refusal::from(of_sqlite(None, String::new())).code(), "internal_error");
        for (code, expected) in [
            ("08006", "store_unavailable"),
            ("53100", "store_unavailable"),
            ("57P01", "store_unavailable"),
            ("25006", "store_unavailable"),
            ("40001", "store_unavailable"),
            ("XX001", "store_unavailable"),
            ("42501", "store_unavailable"),
            ("42601", "internal_error"),
        ] {
            assert_eq!(Refusal::from(of_postgres(Some(code), String::new())).code(), expected, "{code}");
        }
    }
}

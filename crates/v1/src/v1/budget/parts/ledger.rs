//! Interface of the table of parts, independent of where it is stored.
//!
//! May use: nothing of this folder.

use serde::Serialize;
use std::collections::HashSet;
use std::pin::Pin;
use uuid::Uuid;

/// The known processes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Members {
    /// All living processes, this one included.
    pub living: HashSet<Uuid>,
    /// Whether all of them know the table.
    pub all_know: bool,
    /// Whether all other processes announce that their use is in the table.
    pub all_divide: bool,
}

/// A row to be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Name of the row.
    pub name: String,
    /// Version of the row that it replaces; 0 for a new row.
    pub version: i64,
    /// Contents of the row.
    #[serde(rename = "parts")]
    pub text: String,
}

/// Result of an exchange.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// Microseconds since 1970, by the clock of the table.
    pub now: i64,
    /// Rows that were written, with their new version.
    pub written: Vec<(String, i64)>,
    /// Other present rows: name, version and contents. They include existing rows whose change was not written.
    pub rows: Vec<(String, i64, String)>,
}

/// The table of parts.
pub trait Ledger: Send + Sync {
    /// Returns the id of this process in the table.
    fn me(&self) -> Uuid;

    /// Returns the known processes; `None` while the table is unreachable.
    fn members(&self) -> Option<Members>;

    /// Announces to the others whether all use by this process is in the table.
    fn mark(&self, divides: bool);

    /// Writes those `changes` whose row no other process has written in between. Reads the rows of all `changes`, and
    /// all rows with a part of this process that were written since `since`. Returns `None` when the table does not
    /// answer; then it is unknown what was written.
    fn exchange(&self, changes: Vec<Change>, since: i64)
    -> Pin<Box<dyn Future<Output = Option<Seen>> + Send + '_>>;
}

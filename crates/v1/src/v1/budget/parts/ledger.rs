//! The table of parts, wherever it lies.
//!
//! May use: nothing of this folder.

use serde::Serialize;
use std::collections::HashSet;
use std::pin::Pin;
use uuid::Uuid;

/// Who is there, as far as is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Members {
    /// All living processes, this one included.
    pub living: HashSet<Uuid>,
    /// Whether all of them know of the table.
    pub all_know: bool,
    /// Whether all others say that what they use is in it.
    pub all_divide: bool,
}

/// A row to be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Name of the row.
    pub name: String,
    /// Version of the row that it takes the place of; 0 for none.
    pub version: i64,
    /// What is in it.
    #[serde(rename = "parts")]
    pub text: String,
}

/// What came of an exchange.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// Microseconds since 1970, by the clock of the table.
    pub now: i64,
    /// Rows that were written, with their new version.
    pub written: Vec<(String, i64)>,
    /// Other rows as they are: name, version and contents. Those that were to be written and were not are among them,
    /// if there are such rows.
    pub rows: Vec<(String, i64, String)>,
}

/// The table of parts.
pub trait Ledger: Send + Sync {
    /// Id of this process there.
    fn me(&self) -> Uuid;

    /// Who is there; none while the table is away.
    fn members(&self) -> Option<Members>;

    /// Tells the others whether all that this process uses is in the table.
    fn mark(&self, divides: bool);

    /// Writes those of `changes` that nobody has written in between, and reads them as well as all rows with this
    /// process in them that were written since `since`. None when the table does not answer; then nobody knows what was
    /// written.
    fn exchange(&self, changes: Vec<Change>, since: i64)
    -> Pin<Box<dyn Future<Output = Option<Seen>> + Send + '_>>;
}

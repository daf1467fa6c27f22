//! Windows in which an operation of v1 is refused on trial.
//!
//! May use: `settings::tables`.

use super::super::tables::{Row, Table, flag, instant, known, optional, text, texts};
use jiff::Timestamp;

/// A window in which an operation of v1 is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brownout {
    /// Name of the operation, or [`EVERY`](super::EVERY).
    pub operation: String,
    /// Beginning of the window.
    pub from: Timestamp,
    /// End of the window.
    pub until: Timestamp,
    /// Clients that the window is for, as the report names them; all when empty.
    pub clients: Vec<String>,
    /// Whether calls are only counted, and answered as usual.
    pub dry_run: bool,
}

impl Brownout {
    /// Checks whether one call can fall into both windows.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let operation = self.operation == other.operation;
        let time = self.from < other.until && other.from < self.until;
        let client = self.clients.is_empty()
            || other.clients.is_empty()
            || self.clients.iter().any(|client| other.clients.contains(client));
        operation && time && client
    }
}

impl Row for Brownout {
    const FORM: &'static str = "one table per window with `operation` (of v1, or \"all\"), `from` and `until` (each a \
                                date or an instant such as 2027-01-31T12:00:00Z), and if wanted `clients` (a list) and `dry_run`";

    fn of(table: &Table) -> Option<Self> {
        known(table, &["operation", "from", "until", "clients", "dry_run"])?;
        Some(Self {
            operation: text(table.get("operation")?)?.to_owned(),
            from: instant(table.get("from")?)?,
            until: instant(table.get("until")?)?,
            clients: optional(table, "clients", texts)?.unwrap_or_default(),
            dry_run: optional(table, "dry_run", flag)?.unwrap_or(false),
        })
    }
}

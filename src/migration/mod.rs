//! The move from v1 to v2 for operators: a report from the counts in the store and the table of v1's operations.
//!
//! Clients and people choose their own names, so names are treated as hostile: `printable` is for terminals, `csv` for
//! spreadsheets.
//!
//! May use: `amount`, `plan`, `printable`, `store`.

mod counts;
mod csv;
mod left;
mod report;
mod text;

pub use counts::date;
pub use counts::{CountSelection, Counts};
pub use csv::csv;
pub use left::RemainingOperation;
pub(crate) use left::left;
pub use report::{CallerLine, ClientLine, Report};
pub(crate) use report::{QUIET, moved};
pub use text::{client_text, text};

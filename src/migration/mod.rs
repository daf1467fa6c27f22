//! The move from v1 to v2 as operators see it: a report made of the counts in the store and the table of v1's
//! operations.
//!
//! Names that clients and people give themselves are taken to be hostile: `printable` is for terminals, `csv` for
//! spreadsheets.
//!
//! May use: `amount`, `plan`, `printable`, `store`.

mod counts;
mod csv;
mod left;
mod report;
mod text;

pub use counts::date;
pub use counts::{Counts, Wanted};
pub use csv::csv;
pub use left::Left;
pub(crate) use left::left;
pub use report::{CallerLine, ClientLine, Report};
pub(crate) use report::{QUIET, moved};
pub use text::{client_text, text};

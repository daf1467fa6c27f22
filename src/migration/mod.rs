//! The move from v1 to v2 as operators see it: a report made of the counts in the store and the table of v1's operations.
//!
//! What clients and people call themselves is hostile by assumption: [`shown`] is for terminals, `csv` for spreadsheets.
//!
//! May use: `amount`, `plan`, `store`.

mod counts;
mod csv;
mod days;
mod left;
mod report;
mod shown;
mod text;

pub use counts::{Counts, Wanted};
pub use csv::csv;
pub use days::{date, day_of};
pub use left::{Left, left, successors};
pub use report::{CallerLine, ClientLine, OperationLine, Report};
pub use shown::shown;
pub use text::{client_text, text};

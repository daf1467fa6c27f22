//! Answers to reads, compared with those of the deployment's own v2 beside the requests.
//!
//! A request whose answer is to be compared is put into a bounded queue once it has been answered; a full queue drops
//! it and counts that, and nothing waits. `work` sends the same read to the other side, with the caller's key and
//! nowhere else, following nothing. `compare` says in what two answers differ, where the contract says what has to be
//! the same. A read whose answers differ is compared once more after a pause, with an answer made anew, so that a write
//! between the two answers passes for no difference. Counts and differences are written into the store together, every
//! few seconds.
//!
//! Differences are places and kinds of values; the values themselves are kept only where that is set, for test systems.
//!
//! May use: `hop`, `migration` (dates and harmless texts), `plan`, `settings`, `store`, `tally`, `usage` (which day it
//! is), `v1` (keys).

mod compare;
mod found;
mod offer;
mod report;
mod tally;
mod text;
mod values;
mod walk;
mod words;
mod work;
mod writer;

pub use compare::{Side, compare};
pub use found::{Difference, Outcome};
pub(crate) use offer::{Again, Chosen, Shadow};
pub(crate) use report::Told;
pub use report::{Line, Report};
pub(crate) use tally::Tally;
pub use text::text;
pub use walk::Rules;
pub use words::Words;
pub(crate) use work::Work;
pub(crate) use writer::Writer;

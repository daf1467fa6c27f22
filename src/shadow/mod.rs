//! Compares answers to reads with those of the deployment's own v2, outside the requests.
//!
//! After a request was answered, its answer goes into a bounded queue. When the queue is full, the answer is dropped
//! and counted, and no request waits. `work` sends the same read to the other side, with the caller's key. It sends the
//! key nowhere else and follows no redirect. `compare` finds the differences in everything that the contract defines.
//! When answers differ, the read is compared once more after a pause, with a new answer of the gateway, so that a write
//! between the two answers does not count as a difference. Counts and differences are written into the store together,
//! every few seconds.
//!
//! Differences consist of places and kinds of values. The values are kept only if a setting says so, for test systems.
//!
//! May use: `hop`, `migration` (dates and harmless texts), `plan`, `settings`, `store`, `tally`, `task`, `usage` (which
//! day it is), `v1` (keys).

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
pub(crate) use report::ReportedDifference;
pub use report::{Line, Report};
pub(crate) use tally::Tally;
pub use text::text;
pub use walk::Rules;
pub use words::MemberNames;
pub(crate) use work::Work;
pub(crate) use writer::Writer;

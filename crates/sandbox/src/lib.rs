//! The sandbox: an embedded, in-memory stand-in of the real v1 service, faults included. It lets
//! people try the gateway without a deployment and doubles for v1 in tests.
//!
//! It is a separate world: a crate of its own, which only the commands that start it and tests use. Its behaviour is
//! measured against the recordings of a real v1 deployment (`fixtures/v1`); where v1 is odd, the code names the
//! recorded exchange that shows it.
//!
//! Inside, a request goes through `door` (the checks, in the order of v1) to its view in `views`, which works on the
//! tables of `records` and reads and writes with `forms` and `lists`.
//!
//! May use: none of the other crates of this workspace.

mod door;
mod forms;
mod lists;
mod records;
mod views;

pub use door::costs::Costs;
pub use door::service::{Config, DemoFacts, DemoKey, Sandbox, Seed};
pub use door::shared::JournalEntry;

//! The sandbox: an embedded, in-memory stand-in of the real v1 service, faults included. With it
//! people can try the gateway without a deployment, and tests have a double of v1.
//!
//! It is a separate crate. Only tests and the commands that start it use it. Its behaviour is
//! compared with the recordings of a real v1 deployment (`fixtures/v1`). Where v1 is odd, the code names the
//! recorded exchange that shows it.
//!
//! A request goes through `door` (the checks, in v1's order) to its view in `views`. The view works on the
//! tables of `records`, and reads and writes with `forms` and `lists`.
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

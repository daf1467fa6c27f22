//! Numbers that are counted while requests run, for the operators' figures.
//!
//! Code that counts holds its counters and adds to them without a lock, an allocation or a look-up by name;
//! `metrics` knows the names of the counters and how they are shown. May use: this folder.

mod calls;
mod counter;
mod durations;
mod labels;
mod requests;
mod traffic;

pub use calls::{Called, Calls, Outcome};
pub use counter::Counter;
pub use durations::{Durations, Spread};
pub use labels::{Kind, Source};
pub use requests::{Requests, Row};
pub use traffic::Traffic;

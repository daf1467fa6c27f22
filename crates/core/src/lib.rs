//! The base of all other crates: refusals, the context of a request, settings, heavy work off the serving threads,
//! load, caches, counters, printing of numbers and of texts from outside, JSON from outside, futures on the heap, tasks,
//! and traces.
//!
//! May use: none of the other crates of this workspace.

pub mod amount;
pub mod aside;
pub mod boxed;
pub mod cache;
pub mod context;
pub mod fresh;
pub mod heavy;
pub mod json;
pub mod load;
pub mod network;
pub mod printable;
pub mod refusal;
pub mod settings;
pub mod tally;
pub mod task;
pub mod trace;
pub mod units;
pub mod worker;

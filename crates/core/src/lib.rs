//! What everything else stands on: refusals, the life of a request, settings, work off the workers, load, what is
//! kept for a while, what is counted, how numbers and strangers' texts are told, strangers' JSON, futures in memory of
//! their own, and traces.
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
pub mod trace;
pub mod units;
pub mod worker;

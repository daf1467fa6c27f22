//! The client of the v1 deployment: its quota, its failures, its lists, the outcome of writes.
//!
//! May use: the crates core and shared.

pub mod hop;
pub mod v1;

use causeway_core::{boxed, context, json, load, refusal, tally, task, trace, units, worker};
use causeway_shared::shared;

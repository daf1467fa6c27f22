//! Between v2 and v1: `translate` converts one into the other without input or output, `index` holds the work items of
//! a project in memory.
//!
//! May use: the crates core, plan, store and v1.

pub mod index;
pub mod translate;

use causeway_core::{context, fresh, json, refusal, tally, task, units};
use causeway_plan::{plan, v2};
use causeway_store::store;
use causeway_v1::v1;

//! Data that v1 cannot hold: `store` keeps it in SQLite or PostgreSQL, `catalogue` has the rules for it.
//!
//! May use: the crates core, plan and v1.

pub mod catalogue;
pub mod store;

use causeway_core::{cache, fresh, json, refusal, tally, task, trace, units};
use causeway_plan::{plan, v2};
use causeway_v1::v1;

//! Carries the calls of v2 out, step by step as the plan says: with v1, the index and the store.

pub mod run;

use causeway_access::access;
use causeway_core::{cache, context, fresh, heavy, refusal, settings, trace};
use causeway_index::{index, translate};
use causeway_plan::{plan, v2};
use causeway_store::{catalogue, store};
use causeway_v1::v1;

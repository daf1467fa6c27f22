//! Who asks, what they may see, and how often they may ask.

pub mod access;
pub mod limits;

use causeway_core::{cache, context, fresh, refusal, settings, tally};
use causeway_plan::plan;
use causeway_shared::shared;
use causeway_v1::v1;

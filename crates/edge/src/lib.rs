//! The HTTP side: `edge` takes requests in and sends answers out, `telemetry` writes the log, `html` is what all pages
//! share.

pub mod edge;
pub mod html;
pub mod telemetry;

use causeway_access::limits;
use causeway_core::{cache, context, load, refusal, settings, tally, trace, worker};
use causeway_plan::v2;
use causeway_v1::hop;

//! What operators run beside the gateway, and no request passes through: `explain` tells what a request would do, `verify`
//! proves a gateway, `migration` reports what clients still call, `leave` carries what is stored away. `outgoing` is
//! their HTTP client.

pub mod explain;
pub mod leave;
pub mod migration;
pub mod outgoing;
pub mod verify;

use causeway_access::access;
use causeway_core::{refusal, settings};
use causeway_index::index;
use causeway_plan::{plan, v2};
use causeway_run::run;
use causeway_store::{catalogue, store};

//! Many clients at once: writers of the same records, of the same names and pairs, and the headers that inform them of
//! each other.
//!
//! May use: the public interface of the crate and `tests/support`.

mod idempotency;
mod if_match;

mod histories;
mod items;
mod late;
mod linear;
mod lost_creates;
mod races;
mod refused_pairs;
mod scene;

use crate::support::gateway::WEB;

//! A place that all gateway processes of one deployment share: Redis 6 or later, or Valkey.
//!
//! Nothing in it has to last. A caller gets an answer within some tens of milliseconds or is told [`Away`], and then
//! goes on alone; no request fails for it. `place` is what others see, counts who is there and tells all processes
//! something at once; `link` is the connection, which comes back by itself, `script` what is asked (a few atomic scripts,
//! each on one key).
//!
//! Every key names the deployment and has its own hash tag, so that a cluster or a proxy before one can place it.
//!
//! May use: nothing of the other crates.

mod link;
mod place;
mod script;

pub use link::{Link, SharedError};
pub use place::{News, Shared};
pub use script::{Answer, Away, Call, Script};

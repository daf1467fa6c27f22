//! A place that all gateway processes of one deployment share: Redis 6 or later, or Valkey.
//!
//! Nothing in it must be durable. A caller gets an answer within the time of `shared.timeout`, or [`RedisUnavailable`],
//! and continues without the place; no request fails because of it. `place` is the public interface: it counts the
//! processes and sends messages to all of them at once. `link` is the connection, which reconnects by itself. `script`
//! is for the requests: a few atomic scripts, each on one key.
//!
//! Every key names the deployment and has its own hash tag, so that a cluster or a proxy before one can place it.
//!
//! May use: nothing of the other crates.

mod link;
mod place;
mod script;

pub use link::{Link, SharedError, Unusable};
pub use place::{News, Shared};
pub use script::{Answer, Call, RedisUnavailable, Script};

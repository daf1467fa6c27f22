//! What they asked, what they get: the client's side of the gateway, without any knowledge of v1.
//!
//! May use: `plan`, `refusal`. May not use: `v1`, `translate`, `run`, `store`.

mod reply;

pub use reply::Reply;

//! The HTTP surface: connections, layers, routing by prefix, problems, and the pass-through to v1.
//!
//! Purpose: everything about HTTP that is the same for every operation. [`serve`] accepts connections,
//! [`stack()`] lists the layers in order, `dispatch` tells v2 from the pass-through, `problem` writes
//! every error body. The [`V2Service`] behind it interprets v2 requests.
//!
//! May use: `aside`, `boxed`, `cache`, `context`, `hop`, `load`, `refusal`, `settings`, `tally`, `task`, `telemetry`,
//! `trace`, `units`, `v2` (replies, versions, tags), `worker`. May not use: `access`, `app`, `cli`, `mapping`, `oauth`,
//! `run`, `sandbox`, `store`, `translate`, `v1`.

mod body;
mod client_address;
mod coding;
mod connection;
mod connections;
mod descriptors;
pub(crate) mod dispatch;
pub mod door;
mod ending;
mod forwarding;
mod intake;
mod layers;
mod leftover;
mod listen;
mod observers;
mod outgoing;
mod pass_through;
mod pools;
pub(crate) mod problem;
mod public_base;
mod reception;
pub mod stack;
mod tls;
mod turnover;
mod weight;
mod workers;

pub(crate) use body::read_body;
pub use body::{Body, BodyError, empty, full};
pub(crate) use client_address::{ClientAddress, client_agent};
pub(crate) use coding::known_versions;
pub use connection::Peer;
pub(crate) use dispatch::{Arrived, Counting, Pages, Sender};
pub use dispatch::{Condition, Readiness, Surface, V2Answer, V2Service};
pub use forwarding::request_headers as forwarded_headers;
pub(crate) use layers::{Recorded, Traces, is_examination};
pub use listen::serve;
pub(crate) use observers::{CallInFlight, CallObserver, WriteObserver};
pub use pass_through::PassThrough;
pub(crate) use pass_through::{Notice, Notices};
pub(crate) use pools::Kind;
pub(crate) use public_base::PublicBase;
pub(crate) use stack::Stack;
pub use stack::stack;
pub(crate) use tls::{Tls, TlsError};
pub(crate) use weight::weight;

#[cfg(test)]
mod tests;

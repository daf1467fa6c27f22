//! The layers of the stack, one a file; `edge::stack` says in which order and why.
//!
//! A layer is a function from the service inside to the service outside. Inside `answer` services fail
//! with a `Refusal`, outside they never fail.
//!
//! May use: `context`, `limits`, `load`, `refusal`, `settings`, `telemetry`, `edge::body`, `edge::door`,
//! `edge::intake`, `edge::outgoing`, `edge::pools`, `edge::problem`, `edge::public_base`.

mod access_log;
mod answer;
mod companion;
mod cors;
mod deadline;
mod door;
mod head;
mod health;
mod layer;
mod overload;
mod panics;

pub(super) use access_log::access_log;
pub(super) use answer::answer;
pub(super) use companion::{REQUEST_ID, companion};
pub(super) use cors::cors;
pub(super) use deadline::deadline;
pub(super) use door::door;
pub(super) use head::head;
pub(super) use health::health;
pub(super) use layer::context;
pub(super) use overload::overload;
pub(super) use panics::panics;

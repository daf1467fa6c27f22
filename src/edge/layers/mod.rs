//! The layers of the stack; `edge::stack` gives their order and the reasons.
//!
//! A layer does its first part when it is created, and its second part in a method that takes the answer of the inner
//! layers. Inside [`catching`] answers may be refusals, outside they never are.
//!
//! May use: `context`, `load`, `refusal`, `settings`, `tally`, `telemetry`, `trace`, `edge::body`,
//! `edge::client_address`, `edge::connection`, `edge::dispatch`, `edge::intake`, `edge::outgoing`, `edge::pools`,
//! `edge::problem`, `edge::public_base`.

mod access_log;
mod around;
mod companion;
mod cors;
mod cost;
mod health;
mod overload;

pub(super) use access_log::Line;
pub(super) use around::{as_get, catching, in_time, without_body};
pub(super) use companion::{Companion, REQUEST_ID, TRACE_IDS, TRACE_STATE, context};
pub(crate) use companion::{Recorded, Traces};
pub(super) use cors::Cors;
pub(super) use cost::Costs;
pub(super) use health::examined;
pub(crate) use health::is_examination;
pub(super) use overload::Permit;

//! Causeway: a gateway that serves a work-tracking REST API v2 in front of a deployment that only speaks
//! v1.
//!
//! Steps of a request, and the folder that carries out each step:
//!
//! 1. `edge` accepts the connection, runs the layers, tells v2 from the v1 pass-through
//! 2. `access` proves the credential and what it may see
//! 3. [`v2`] turns the request into a valid call
//! 4. `run` carries the call out, step by step as the `plan` says
//! 5. `translate` turns v2 into v1 and back, without any input or output
//! 6. `v1` sends requests to the v1 deployment; `store` keeps what v1 cannot hold, `catalogue` has the rules for it
//!
//! Any refusal is returned as a [`refusal::Refusal`] and becomes bytes in `edge::problem`. Only the files in
//! `mappings/` define which operations exist: `mapping` reads them, `plan` is their compiled meaning. `sandbox` is
//! separate: an embedded v1 for trying things out and for tests.
//!
//! May use: everything; it only names the folders and passes the other crates on.

pub mod access;
mod admin;
pub mod app;
mod board;
pub mod cli;
mod docs;
pub mod doctor;
pub mod edge;
pub mod explain;
mod front;
mod hints;
mod html;
pub mod idempotency;
pub mod leave;
mod limits;
mod metrics;
pub mod migration;
pub mod native;
pub mod oauth;
mod outgoing;
mod request;
mod retirement;
mod run;
pub mod shadow;
mod telemetry;
mod traces;
pub mod usage;
pub mod verify;

pub use causeway_core::{
    amount, aside, boxed, cache, context, fresh, heavy, json, load, network, printable, refusal, settings, tally,
    task, trace, units, worker,
};
pub use causeway_index::{index, translate};
pub use causeway_plan::{describe, mapping, plan, v2};
pub use causeway_sandbox as sandbox;
pub use causeway_shared::shared;
pub use causeway_store::{catalogue, store};
pub use causeway_v1::{hop, v1};

//! A v1 that fails: faults between the gateway and the embedded v1, a v1 that is away, collections that change
//! while they are read.
//!
//! May use: the public interface of the crate and `tests/support`.

mod clients;
mod growing;
mod injected;
mod outage;
mod outage_long;
mod outcomes;
mod proxy;
#[allow(dead_code)]
#[path = "../traps/scene.rs"]
mod scene;
#[path = "../support/mod.rs"]
mod support;

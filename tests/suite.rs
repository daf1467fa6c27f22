//! All tests that can share one process, in one binary, so that it links once.
//!
//! One folder or file for each subject; `cargo test --test suite FOLDER::` runs one of them. A test that measures
//! its own process, starts others or takes long has a binary of its own: `faults`, `flat_memory`, `hostile`,
//! `processes`.

mod support;

mod architecture;
mod comments;
mod costs;
mod cutover;
mod deploy;
mod gateway;
mod index;
mod leaks;
mod leave;
mod migration;
mod oauth;
mod oldest_rust;
mod operations;
mod operators;
mod plan;
mod properties;
mod sandbox;
mod sandbox_costs;
mod sandbox_replay;
mod store;
mod together;
mod traps;
mod upstream;
mod versions;
mod whole_set;
mod work_items;

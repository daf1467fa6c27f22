//! The mappings, their compiler and everything read off the plan.
//!
//! One binary, so that it links once. Run with `BLESS=1` to rewrite what is compared with committed
//! files: the reports in `tests/broken_mappings/` and the generated files in
//! `docs/`.

#[path = "plan/broken.rs"]
mod broken;
#[path = "plan/contract.rs"]
mod contract;
#[path = "plan/describe.rs"]
mod describe;
#[path = "plan/links.rs"]
mod links;
#[path = "plan/readme.rs"]
mod readme;
#[path = "plan/resolved.rs"]
mod resolved;
#[path = "plan/routing.rs"]
mod routing;
#[path = "plan/support.rs"]
mod support;
#[path = "plan/tables.rs"]
mod tables;

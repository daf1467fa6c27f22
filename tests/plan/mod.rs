//! The mappings, their compiler and everything read off the plan.
//!
//! Run with `BLESS=1` to rewrite the committed files that the tests compare:
//! the reports in `tests/broken_mappings/` and the generated files in
//! `docs/`.

mod broken;
mod contract;
mod describe;
mod differential;
mod documents;
mod legacy;
mod links;
mod readme;
mod resolved;
mod routing;
mod support;
mod tables;
mod work_items;

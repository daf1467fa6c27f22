//! The mappings, their compiler and everything read off the plan.
//!
//! One binary, so that it links once. Run with `BLESS=1` to rewrite what is compared with committed
//! files: the reports in `tests/broken_mappings/` and `docs/known-gaps.md`.

#[path = "plan/contract.rs"]
mod contract;
#[path = "plan/support.rs"]
mod support;

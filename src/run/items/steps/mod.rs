//! The operations on work items, one in each file, named by the steps of `mappings/work_items.toml`.
//!
//! May use: what `run` may use.

pub(in crate::run) mod archive;
pub(in crate::run) mod create;
pub(in crate::run) mod delete;
pub(in crate::run) mod list;
pub(in crate::run) mod lookup;
pub(in crate::run) mod retrieve;
pub(in crate::run) mod update;

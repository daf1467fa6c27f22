//! The contract of v2: `mapping` reads the mapping files, `plan` is their compiled meaning, `describe` writes documents
//! about it, and [`v2`] turns requests into valid calls and writes answers.
//!
//! May use: the crate core.

pub mod describe;
pub mod mapping;
pub mod plan;
pub mod v2;

use causeway_core::{json, refusal};

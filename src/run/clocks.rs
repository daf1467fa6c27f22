//! How far clocks may differ.
//!
//! May use: `v2` (the unit).

use crate::v2::time::Micros;

/// How far v1's clock, or another process's, may be behind or ahead of ours.
pub const SKEW: Micros = 5_000_000;

//! The board: the move from v1 to v2 as pages of the operators' listener, below `/migration/`.
//!
//! Everything is rendered here and works without scripts; templates escape the names that clients give themselves.
//!
//! May use: `admin` (what a page is), `amount`, `migration`, `plan`, `shadow`, `store`, `usage` (which day it is).

mod chart;
mod page;
mod service;

pub use service::Board;

//! What the service can do, for people and for machines, read off the plan.
//!
//! Purpose: listings and documents that must never be kept by hand.
//!
//! May use: `plan`. May not use: any folder that serves requests.

pub mod openapi;
pub mod operations;

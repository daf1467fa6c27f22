//! Descriptions of the service for people and for machines, generated from the plan.
//!
//! Purpose: listings and documents that must never be maintained by hand.
//!
//! May use: `plan`. May not use: any folder that serves requests.

pub mod openapi;
pub mod operations;

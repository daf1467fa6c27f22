//! Clients that mean harm or are broken: slow ones, bodies that cost much, requests that two servers read
//! differently.
//!
//! May use: the public interface of the crate and `tests/support`.

#[path = "../support/mod.rs"]
mod support;

mod corpora;
mod costly;
mod raw;

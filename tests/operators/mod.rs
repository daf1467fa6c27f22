//! The operators' listener as a browser, a scraper or a stranger meets it, and commands as an operator does.
//!
//! May use: the public interface of the crate and `tests/support`.

mod commands;
mod door;
mod metrics;
mod reload;
mod traces;

//! The operators' listener as a browser, a scraper or a stranger meets it.
//!
//! May use: the public interface of the crate and `tests/support`.

mod door;
mod metrics;
mod reload;
mod traces;

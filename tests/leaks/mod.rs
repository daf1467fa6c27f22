//! No data that one credential may see ever reaches a credential that may not: through caches, cursors, a
//! restart, withdrawn rights, logs or error bodies.
//!
//! May use: the public interface of the crate and `tests/support`.

mod audiences;
mod audit;
mod deployments;
mod private;
mod secrets;
mod withdrawn;

//! Leaving for a v2 of the deployment's own.

mod carried;
mod filled;
mod refused;
mod two;
mod walk;

//! Leaving for a v2 of the deployment's own.

mod carried;
mod filled;
mod refused;
mod switched;
#[allow(dead_code)]
mod two;
mod uncommon;
mod walk;

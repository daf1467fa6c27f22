//! The last epoch of each project that this process has acted on; `catch_up` says what an epoch is.
//!
//! May use: nothing of this crate.

use moka::sync::Cache;
use uuid::Uuid;

/// The last epoch of each project that this process has acted on; clones are the same.
#[derive(Clone)]
pub(super) struct Epochs(pub(super) Cache<Uuid, i64>);

impl Default for Epochs {
    fn default() -> Self {
        Self(Cache::new(100_000))
    }
}

//! The last epoch of each project that this process has acted on; `catch_up` says what an epoch is.
//!
//! May use: `cache`.

use crate::cache::{Bounds, Cache};
use uuid::Uuid;

/// The last epoch of each project that this process has acted on; clones are the same.
#[derive(Clone)]
pub(super) struct Epochs(pub(super) Cache<Uuid, i64>);

impl Default for Epochs {
    fn default() -> Self {
        Self(Cache::new(Bounds::of(100_000)))
    }
}

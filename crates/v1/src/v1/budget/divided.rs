//! The lanes of all keys, as the work that divides their quotas among processes sees them.
//!
//! May use: `lane`, `parts`, the key, `shared` (names).

use super::lane::Lane;
use super::parts::{Demand, Lanes};
use crate::shared::Shared;
use crate::v1::key::KeyId;
use std::collections::HashMap;
use std::sync::Arc;

/// Lanes by the name of their row, at one moment.
pub(super) struct ByName(pub HashMap<String, Arc<Lane>>);

/// The name of a key's row, which does not show the key.
pub(super) fn name_of(key: KeyId) -> String {
    Shared::hidden_tag("quota", &[&key.0])
}

/// The name of the row of all keys.
pub(super) fn name_of_all() -> String {
    Shared::hidden_tag("quota", &[b"all keys"])
}

impl Lanes for ByName {
    fn demands(&self) -> HashMap<String, Demand> {
        self.0.iter().map(|(name, lane)| (name.clone(), lane.demand())).collect()
    }

    fn used(&self, name: &str) -> usize {
        self.0.get(name).map_or(0, |lane| lane.demand().used)
    }

    fn told(&self, name: &str, elsewhere: usize, learned: usize) {
        if let Some(lane) = self.0.get(name) {
            lane.hear(elsewhere, learned);
        }
    }

    fn grown(&self, name: &str) {
        if let Some(lane) = self.0.get(name) {
            lane.look_again();
        }
    }
}

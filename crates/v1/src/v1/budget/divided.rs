//! The lanes of all keys, as the work that divides their quotas among processes sees them.
//!
//! May use: `lane`, `parts`.

use super::lane::Lane;
use super::parts::{Demand, Lanes};
use std::collections::HashMap;
use std::sync::Arc;

/// Lanes by the name of their row, at one moment.
impl Lanes for HashMap<String, Arc<Lane>> {
    fn demands(&self) -> HashMap<String, Demand> {
        self.iter().map(|(name, lane)| (name.clone(), lane.demand())).collect()
    }

    fn used(&self, name: &str) -> usize {
        self.get(name).map_or(0, |lane| lane.demand().used)
    }

    fn told(&self, name: &str, elsewhere: usize, learned: usize) {
        if let Some(lane) = self.get(name) {
            lane.hear(elsewhere, learned);
        }
    }

    fn grown(&self, name: &str) {
        if let Some(lane) = self.get(name) {
            lane.look_again();
        }
    }
}

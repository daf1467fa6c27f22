//! Look-ups of definitions and their places, shared by reads, writes and work items. May use: `plan`, `v2`, this
//! folder.

mod options;
mod properties;
mod types;

use super::model::{Catalogue, Features};
use crate::plan::TypeMode;
use crate::v2::time::Micros;
use std::sync::Arc;
use uuid::Uuid;

impl Catalogue {
    /// Creates the catalogue of a workspace that has no definitions yet.
    pub fn empty(workspace: Uuid, created_at: Micros) -> Self {
        let id = Uuid::new_v5(&workspace, b"features");
        let features = Features { id, created_at, ..Features::default() };
        Self { workspace, features: Arc::new(features), ..Self::default() }
    }

    /// Returns the mode in effect; `available` says whether the plan has types of the workspace (O31).
    pub fn mode(&self, available: bool) -> TypeMode {
        if available && self.features.flags[0] { TypeMode::Workspace } else { TypeMode::Project }
    }
}

/// Sorts records by place; of two with the same place, the older one comes first.
fn in_order<T>(mut records: Vec<T>, place: impl Fn(&T) -> (f64, Micros, Uuid)) -> Vec<T> {
    records.sort_by(|one, other| {
        let ((one, one_since, one_id), (other, other_since, other_id)) = (place(one), place(other));
        one.total_cmp(&other).then((one_since, one_id).cmp(&(other_since, other_id)))
    });
    records
}

//! What is defined where: the look-ups that reads, writes and work items share. May use: `plan`, `v2`, this folder.

mod options;
mod properties;
mod types;

use super::model::{Catalogue, Features};
use crate::plan::TypeMode;
use crate::v2::time::Micros;
use std::sync::Arc;
use uuid::Uuid;

impl Catalogue {
    /// The catalogue of a workspace in which nothing was defined yet.
    pub fn empty(workspace: Uuid, created_at: Micros) -> Self {
        let id = Uuid::new_v5(&workspace, b"features");
        let features = Features { id, created_at, ..Features::default() };
        Self { workspace, features: Arc::new(features), ..Self::default() }
    }

    /// The mode in effect; `available` says whether the plan has types of the workspace (O31).
    pub fn mode(&self, available: bool) -> TypeMode {
        if available && self.features.flags[0] { TypeMode::Workspace } else { TypeMode::Project }
    }
}

/// Records by their places; where two have the same, the older one goes first.
fn in_order<T>(mut records: Vec<T>, place: impl Fn(&T) -> (f64, Micros, Uuid)) -> Vec<T> {
    records.sort_by(|one, other| {
        let ((one, one_since, one_id), (other, other_since, other_id)) = (place(one), place(other));
        one.total_cmp(&other).then((one_since, one_id).cmp(&(other_since, other_id)))
    });
    records
}

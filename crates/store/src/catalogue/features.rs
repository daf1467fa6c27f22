//! Rules of the features record (16.2). May use: `refusal`, `v2`, this folder.

use super::edit::Edit;
use super::faults::flag;
use super::model::FLAGS;
use crate::refusal::Refusal;
use crate::v2::body::Given;
use serde_json::Value;
use std::sync::Arc;

impl Edit {
    /// Changes flags and the default level. Turning types of the workspace on makes sure that it has a
    /// default type (O61), whatever the plan says today: it may say otherwise tomorrow.
    ///
    /// # Errors
    /// None of its own (O79).
    pub fn update_features(&mut self, given: &Given) -> Result<(), Refusal> {
        let features = Arc::make_mut(&mut self.after.features);
        for (name, stored) in FLAGS.iter().zip(&mut features.flags) {
            *stored = flag(given, name).unwrap_or(*stored);
        }
        if let Some(level) = given.get("work_item_type_default_level").and_then(Value::as_i64) {
            features.default_level = level;
        }
        if features.flags[0] {
            self.provide_default(None)?;
        }
        Ok(())
    }
}

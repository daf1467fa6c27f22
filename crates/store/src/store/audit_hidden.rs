//! View of an audit log entry for a reader who does not see every project.
//!
//! The role decides who may read the log (O13), but it does not allow the names of private projects. When the reader of
//! an entry does not see its project, the members that name the project or belong to it are left out; the event, its
//! time and its author stay. Entries of the workspace may also name projects (the scope of a context): those that the
//! reader does not see are left out one by one. May use: `json`, this folder.

use super::audit_record::AuditRecord;
use super::error::StoreError;
use crate::json::SafeJson;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use uuid::Uuid;

/// Members of values that name projects.
const PROJECTS: &str = "project_ids";
const PROJECT: &str = "project_id";

impl AuditRecord {
    /// Checks whether parts of the entry may depend on the projects that its reader sees.
    pub fn names_projects(&self) -> bool {
        let values = [self.old_value.as_ref(), self.new_value.as_ref(), Some(&self.metadata)];
        self.project_id.is_some() || values.into_iter().flatten().any(|value| names_projects(value))
    }

    /// Leaves out the parts that a reader may not see. The reader sees the projects for which `sees` returns true.
    pub fn leave_out_hidden(&mut self, sees: &impl Fn(Uuid) -> bool) -> Result<(), StoreError> {
        if self.project_id.is_some_and(|project| !sees(project)) {
            self.target_id = String::new();
            self.target_display_name = String::new();
            self.old_value = None;
            self.new_value = None;
            self.metadata = raw(&Value::Object(serde_json::Map::new()))?;
            self.project_id = None;
            return Ok(());
        }
        let values = [self.old_value.as_mut(), self.new_value.as_mut(), Some(&mut self.metadata)];
        for value in values.into_iter().flatten().filter(|value| names_projects(value)) {
            let SafeJson(mut read) = serde_json::from_str(value.get())
                .map_err(|_| StoreError::unreadable("value of the audit log", value.get()))?;
            leave_out(&mut read, sees);
            *value = raw(&read)?;
        }
        Ok(())
    }
}

/// Checks for both member names: `project_ids` begins with `project_id`.
fn names_projects(value: &RawValue) -> bool {
    value.get().contains(PROJECT)
}

fn raw(value: &Value) -> Result<Box<RawValue>, StoreError> {
    to_raw_value(value).map_err(|cause| StoreError::Internal(cause.to_string()))
}

fn leave_out(value: &mut Value, sees: &impl Fn(Uuid) -> bool) {
    let seen = |value: &Value| value.as_str().and_then(|text| Uuid::try_parse(text).ok()).is_none_or(sees);
    match value {
        Value::Array(values) => values.iter_mut().for_each(|value| leave_out(value, sees)),
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::Array(projects) if name == PROJECTS => projects.retain(seen),
                    Value::String(_) if name == PROJECT && !seen(value) => *value = Value::Null,
                    _ => leave_out(value, sees),
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SEEN: Uuid = Uuid::from_u128(1);
    const HIDDEN: Uuid = Uuid::from_u128(2);

    #[test]
    fn projects_that_are_not_seen_are_left_out_wherever_they_stand() {
        let mut value = json!({"name": "n", "project_ids": [SEEN, HIDDEN, "no id"], "project_id": HIDDEN,
            "inner": [{"project_id": SEEN}, {"project_ids": [HIDDEN]}], "id": HIDDEN});
        leave_out(&mut value, &|project| project == SEEN);
        let left = json!({"name": "n", "project_ids": [SEEN, "no id"], "project_id": null,
            "inner": [{"project_id": SEEN}, {"project_ids": []}], "id": HIDDEN});
        assert_eq!(value, left);
    }
}

//! One entry of the audit log: how a row of the database becomes one, and how somebody sees it who does not see every
//! project.
//!
//! The role decides who may read the log (O13), not what private projects are called: when the reader of an entry does
//! not see its project, the members that name the project or belong to it are left out, and the event, its time and its
//! author stay. Entries of the workspace may name projects too (what a context covers): those the reader does not see
//! are left out one by one. May use: this folder, `v2` (times).

use super::error::StoreError;
use super::rows::read_from_its_columns;
use crate::v2::time::{self, Micros};
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use sqlx::Row;
use sqlx::any::AnyRow;
use uuid::Uuid;

/// Columns whose values may be large.
const LARGE: [&str; 3] = ["old_value", "new_value", "metadata"];

/// One entry as it is read; serialises as the read shape.
#[derive(Debug, Clone, Serialize)]
pub struct AuditRecord {
    /// Record id.
    pub id: Uuid,
    /// Id of the event.
    pub event_id: Uuid,
    /// Place in the log of its workspace, from 1.
    pub sequence_number: i64,
    /// Such as `settings.features_updated`.
    pub event_name: String,
    /// Family of events.
    pub category: String,
    /// `success` or `failure`.
    pub outcome: String,
    /// Surface the request came through.
    pub source: String,
    /// Kind of principal.
    pub actor_type: String,
    /// The person.
    pub actor_id: Option<Uuid>,
    /// Their name then.
    pub actor_display_name: String,
    /// Their address then.
    pub actor_email: String,
    /// Kind of thing acted on.
    pub target_type: String,
    /// Its id.
    pub target_id: String,
    /// Its name then.
    pub target_display_name: String,
    /// What it was.
    pub old_value: Option<Box<RawValue>>,
    /// What it became.
    pub new_value: Option<Box<RawValue>>,
    /// Why it failed.
    pub reason: String,
    /// More about it.
    pub metadata: Box<RawValue>,
    /// Where the request came from.
    pub ip_address: Option<String>,
    /// What sent it.
    pub user_agent: String,
    /// The workspace.
    pub workspace_id: Uuid,
    /// The project it happened in.
    pub project_id: Option<Uuid>,
    /// When it was recorded.
    #[serde(serialize_with = "written")]
    pub created_at: Micros,
}

read_from_its_columns! {
    AuditRecord: id, event_id, sequence_number, event_name, category, outcome, source, actor_type, actor_id,
    actor_display_name, actor_email, target_type, target_id, target_display_name, old_value, new_value, reason,
    metadata, ip_address, user_agent, workspace_id, project_id, created_at
}

/// Bytes of the values of a row that may be large.
pub(super) fn size(row: &AnyRow) -> usize {
    let bytes = |column: &&str| row.try_get::<Option<&str>, _>(*column).ok().flatten().map_or(0, str::len);
    LARGE.iter().map(bytes).sum()
}

fn written<S: Serializer>(at: &Micros, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&time::write(*at))
}

/// Members of values that name projects.
const PROJECTS: &str = "project_ids";
const PROJECT: &str = "project_id";

impl AuditRecord {
    /// Whether something in it may depend on which projects its reader sees.
    pub fn names_projects(&self) -> bool {
        let values = [self.old_value.as_ref(), self.new_value.as_ref(), Some(&self.metadata)];
        self.project_id.is_some() || values.into_iter().flatten().any(|value| names_projects(value))
    }

    /// Leaves out what a reader may not see who sees only the projects that `sees` says.
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
            let mut read: Value = serde_json::from_str(value.get())
                .map_err(|_| StoreError::unreadable("value of the audit log", value.get()))?;
            leave_out(&mut read, sees);
            *value = raw(&read)?;
        }
        Ok(())
    }
}

/// `project_id` is the beginning of the other name too.
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

//! One entry of the audit log: how a row of the database becomes one. May use: this folder, `v2` (times).

use super::rows::read_from_its_columns;
use crate::v2::time::{self, Micros};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
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

//! One entry of the audit log, and how it is read from a row. May use: this folder, `v2` (times).

use super::rows::read_from_its_columns;
use crate::v2::time::{self, Micros};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use sqlx::Row;
use sqlx::any::AnyRow;
use uuid::Uuid;

/// Columns whose values may be large.
const LARGE: [&str; 3] = ["old_value", "new_value", "metadata"];

/// One entry as read from the database; serialises as the read shape.
#[derive(Debug, Clone, Serialize)]
pub struct AuditRecord {
    /// Record id.
    pub id: Uuid,
    /// Id of the event.
    pub event_id: Uuid,
    /// Place in the log of its workspace, from 1.
    pub sequence_number: i64,
    /// Name of the event, such as `settings.features_updated`.
    pub event_name: String,
    /// Family of events.
    pub category: String,
    /// `success` or `failure`.
    pub outcome: String,
    /// Surface of the request.
    pub source: String,
    /// Kind of principal.
    pub actor_type: String,
    /// The person.
    pub actor_id: Option<Uuid>,
    /// Name of the person at that time.
    pub actor_display_name: String,
    /// E-mail address of the person at that time.
    pub actor_email: String,
    /// Kind of target.
    pub target_type: String,
    /// Id of the target.
    pub target_id: String,
    /// Name of the target at that time.
    pub target_display_name: String,
    /// Value before the change.
    pub old_value: Option<Box<RawValue>>,
    /// Value after the change.
    pub new_value: Option<Box<RawValue>>,
    /// Reason of a failure.
    pub reason: String,
    /// More data about the event.
    pub metadata: Box<RawValue>,
    /// Address that the request came from.
    pub ip_address: Option<String>,
    /// User agent of the request.
    pub user_agent: String,
    /// The workspace.
    pub workspace_id: Uuid,
    /// The project of the event.
    pub project_id: Option<Uuid>,
    /// Time of recording.
    #[serde(serialize_with = "written")]
    pub created_at: Micros,
}

read_from_its_columns! {
    AuditRecord: id, event_id, sequence_number, event_name, category, outcome, source, actor_type, actor_id,
    actor_display_name, actor_email, target_type, target_id, target_display_name, old_value, new_value, reason,
    metadata, ip_address, user_agent, workspace_id, project_id, created_at
}

/// Returns the number of bytes in the possibly large values of a row.
pub(super) fn size(row: &AnyRow) -> usize {
    let bytes = |column: &&str| row.try_get::<Option<&str>, _>(*column).ok().flatten().map_or(0, str::len);
    LARGE.iter().map(bytes).sum()
}

fn written<S: Serializer>(at: &Micros, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&time::write(*at))
}

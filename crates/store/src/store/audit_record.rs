//! One entry of the audit log, and how a row of the database becomes one.
//!
//! May use: this folder, `v2` (times).

use super::error::StoreError;
use crate::v2::time::{self, Micros};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use sqlx::Row;
use sqlx::any::AnyRow;
use uuid::Uuid;

/// Columns in the order of [`AuditRecord`].
pub(super) const COLUMNS: &str = "id, event_id, sequence_number, event_name, category, outcome, source, actor_type, actor_id, \
     actor_display_name, actor_email, target_type, target_id, target_display_name, old_value, new_value, reason, \
     metadata, ip_address, user_agent, workspace_id, project_id, created_at";

/// Places in [`COLUMNS`] of `old_value`, `new_value` and `metadata`, which may be large.
const VALUES: [usize; 3] = [14, 15, 17];

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

/// Reads a row of [`COLUMNS`].
pub(super) fn record(row: &AnyRow) -> Result<AuditRecord, StoreError> {
    Ok(AuditRecord {
        id: id(row.try_get(0)?)?,
        event_id: id(row.try_get(1)?)?,
        sequence_number: row.try_get(2)?,
        event_name: row.try_get(3)?,
        category: row.try_get(4)?,
        outcome: row.try_get(5)?,
        source: row.try_get(6)?,
        actor_type: row.try_get(7)?,
        actor_id: optional(row, 8)?.map(id).transpose()?,
        actor_display_name: row.try_get(9)?,
        actor_email: row.try_get(10)?,
        target_type: row.try_get(11)?,
        target_id: row.try_get(12)?,
        target_display_name: row.try_get(13)?,
        old_value: optional(row, 14)?.map(json).transpose()?,
        new_value: optional(row, 15)?.map(json).transpose()?,
        reason: row.try_get(16)?,
        metadata: json(row.try_get(17)?)?,
        ip_address: row.try_get(18)?,
        user_agent: row.try_get(19)?,
        workspace_id: id(row.try_get(20)?)?,
        project_id: optional(row, 21)?.map(id).transpose()?,
        created_at: row.try_get(22)?,
    })
}

/// Bytes of the values of a row that may be large.
pub(super) fn size(row: &AnyRow) -> usize {
    let text = |column: &usize| optional(row, *column).ok().flatten().map_or(0, str::len);
    VALUES.iter().map(text).sum()
}

fn optional(row: &AnyRow, column: usize) -> Result<Option<&str>, StoreError> {
    Ok(row.try_get(column)?)
}

fn id(text: &str) -> Result<Uuid, StoreError> {
    Uuid::parse_str(text).map_err(|_| StoreError::unreadable("id of the audit log", text))
}

fn json(text: &str) -> Result<Box<RawValue>, StoreError> {
    RawValue::from_string(text.to_owned()).map_err(|_| StoreError::unreadable("value of the audit log", text))
}

fn written<S: Serializer>(at: &Micros, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&time::write(*at))
}

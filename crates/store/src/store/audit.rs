//! The audit log: appended in the transaction of what it tells of, never changed.
//!
//! May use: `units`, this folder.

use super::audit_search::search_text;
use super::error::StoreError;
use super::rows::{NewRow, insert, query};
use super::service::Store;
use super::session::Session;
use crate::units::now_micros;
use serde_json::Value;
use sqlx::Row;
use uuid::Uuid;

/// How far ahead of this clock the last entry may be for the next one to be put right behind it; beyond that
/// some clock was wrong, and the wrong time is not handed on.
const CLOCKS_APART: i64 = 60_000_000;

/// One event to be written; id, sequence number and time are given by the log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AuditEntry {
    /// Such as `settings.features_updated`.
    pub event_name: &'static str,
    /// `auth`, `member`, `role`, `settings`, `integration`, `webhook`, `security` or `instance`.
    pub category: &'static str,
    /// Whether it was done; a refusal is a failure.
    pub success: bool,
    /// What it came through: `api`, `auth` or `system`.
    pub source: &'static str,
    /// Who did it.
    pub actor: AuditActor,
    /// Kind of thing it was done to, such as `workspace`.
    pub target_type: &'static str,
    /// Its id.
    pub target_id: String,
    /// Its name at that time.
    pub target_display_name: String,
    /// What it was before.
    pub old_value: Option<Value>,
    /// What it became.
    pub new_value: Option<Value>,
    /// Why it failed, empty when it did not.
    pub reason: &'static str,
    /// More about it; an object.
    pub metadata: Value,
    /// The project it happened in.
    pub project: Option<Uuid>,
}

/// Who did something, as of that time, and from where.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditActor {
    /// `user`, `api_token`, `system` or `anonymous`.
    pub kind: &'static str,
    /// The person; none for system and anonymous.
    pub id: Option<Uuid>,
    /// Display name.
    pub display_name: String,
    /// Address.
    pub email: String,
    /// Where the request came from.
    pub ip_address: Option<String>,
    /// What sent it.
    pub user_agent: String,
}

impl Store {
    /// Writes entries that belong to no other change, all or none.
    pub async fn record(&self, workspace: Uuid, entries: &[AuditEntry]) -> Result<(), StoreError> {
        if entries.is_empty() {
            return Ok(());
        }
        let mut writing = self.engine.writing().await?;
        append(&mut writing, workspace, entries).await?;
        writing.commit().await
    }

    /// Writes an entry unless one was written with the same `key` in this workspace within the last minute:
    /// a client that repeats a failing request must not fill the log. The key says what repeats, such as the
    /// digest of a credential; never the credential. Returns whether it was written.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written; the next entry is then tried again.
    pub async fn record_coalesced(
        &self,
        workspace: Uuid,
        key: &str,
        entry: &AuditEntry,
    ) -> Result<bool, StoreError> {
        if !self.repeated.is_first(workspace, key) {
            return Ok(false);
        }
        let written = self.record(workspace, std::slice::from_ref(entry)).await;
        if written.is_err() {
            self.repeated.forget(workspace, key);
        }
        written.map(|()| true)
    }
}

/// Appends to the log of `workspace`, whose end is locked from here on, so that numbers and instants grow in
/// the order of the commits: a walk by either never misses what is appended meanwhile.
pub(super) async fn append(
    writing: &mut Session,
    workspace: Uuid,
    entries: &[AuditEntry],
) -> Result<(), StoreError> {
    if entries.is_empty() {
        return Ok(());
    }
    let count = i64::try_from(entries.len()).unwrap_or(i64::MAX);
    let text = "INSERT INTO audit_end (workspace_id, sequence_number, created_at) VALUES ($1, $2, $3 + $2 - 1) \
                ON CONFLICT (workspace_id) DO UPDATE SET sequence_number = audit_end.sequence_number + $2, \
                created_at = CASE WHEN audit_end.created_at >= $3 AND audit_end.created_at < $3 + $4 \
                THEN audit_end.created_at + $2 ELSE $3 + $2 - 1 END RETURNING sequence_number, created_at";
    let row = query(text, &[&workspace, &count, &now_micros(), &CLOCKS_APART]).fetch_one(&mut *writing).await?;
    let (last, ended): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    let places = (last - count + 1..).zip(ended - count + 1..);
    for (entry, (sequence, at)) in entries.iter().zip(places) {
        let AuditActor { display_name, email, .. } = &entry.actor;
        let searched = [entry.event_name, display_name, email, &entry.target_display_name];
        let row: NewRow = &[
            ("id", &Uuid::new_v4().to_string()),
            ("event_id", &Uuid::new_v4().to_string()),
            ("workspace_id", &workspace),
            ("sequence_number", &sequence),
            ("event_name", &entry.event_name),
            ("category", &entry.category),
            ("outcome", &(if entry.success { "success" } else { "failure" })),
            ("source", &entry.source),
            ("actor_type", &entry.actor.kind),
            ("actor_id", &entry.actor.id),
            ("actor_display_name", &entry.actor.display_name),
            ("actor_email", &entry.actor.email),
            ("target_type", &entry.target_type),
            ("target_id", &entry.target_id),
            ("target_display_name", &entry.target_display_name),
            ("old_value", &entry.old_value),
            ("new_value", &entry.new_value),
            ("reason", &entry.reason),
            ("metadata", &entry.metadata),
            ("ip_address", &entry.actor.ip_address),
            ("user_agent", &entry.actor.user_agent),
            ("project_id", &entry.project),
            ("search_text", &search_text(searched)),
            ("created_at", &at),
        ];
        writing.run(insert("audit_log", row)).await?;
    }
    Ok(())
}

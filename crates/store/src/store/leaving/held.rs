//! Other data that the store holds of a workspace, and its amounts.
//!
//! May use: this folder.

use super::super::error::StoreError;
use super::super::overlay_value::OverlayValue;
use super::super::rows::{all, query};
use super::super::service::Store;
use sqlx::Row;
use std::collections::HashSet;
use uuid::Uuid;

/// An overlaid field of a record of v1.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldOverlay {
    /// Kind of record.
    pub kind: String,
    /// The record.
    pub record: Uuid,
    /// Field, value, and the value that v1 showed.
    pub value: OverlayValue,
}

impl Store {
    /// Returns the workspaces of which the store holds any data.
    pub async fn workspaces_held(&self) -> Result<Vec<Uuid>, StoreError> {
        let text = "SELECT id FROM workspace UNION SELECT workspace_id FROM work_item \
                    UNION SELECT workspace_id FROM overlay ORDER BY 1";
        all(self.engine.pool(), query(text, &[]), |cells| cells.next()).await
    }

    /// Returns the overlaid fields of the records of a workspace.
    pub async fn overlays_held(&self, workspace: Uuid) -> Result<Vec<HeldOverlay>, StoreError> {
        let text = "SELECT kind, record_id, field, value, seen FROM overlay WHERE workspace_id = $1 \
                    ORDER BY kind, record_id, field";
        all(self.engine.pool(), query(text, &[&workspace]), |cells| {
            let (kind, record) = (cells.next()?, cells.next()?);
            let value = OverlayValue { field: cells.next()?, value: cells.next()?, seen: cells.next()? };
            Ok(HeldOverlay { kind, record, value })
        })
        .await
    }

    /// Counts the audit log entries of a workspace.
    pub async fn audit_entries(&self, workspace: Uuid) -> Result<i64, StoreError> {
        self.counted("SELECT COUNT(*) FROM audit_log WHERE workspace_id = $1", workspace).await
    }

    /// Counts the writes of a workspace that are not settled between v1 and the store.
    pub async fn unsettled_writes(&self, workspace: Uuid) -> Result<i64, StoreError> {
        self.counted("SELECT COUNT(*) FROM intent WHERE settled_at IS NULL AND workspace_id = $1", workspace).await
    }

    /// Returns the ids of all types and properties that were ever defined in a workspace, deleted ones included.
    pub async fn ids_ever_given(&self, workspace: Uuid) -> Result<HashSet<Uuid>, StoreError> {
        let text = "SELECT id FROM work_item_type WHERE workspace_id = $1 \
                    UNION SELECT id FROM property WHERE workspace_id = $1";
        all(self.engine.pool(), query(text, &[&workspace]), |cells| cells.next()).await
    }

    async fn counted(&self, text: &'static str, workspace: Uuid) -> Result<i64, StoreError> {
        Ok(query(text, &[&workspace]).fetch_one(self.engine.pool()).await?.try_get(0)?)
    }
}

//! Moving data to a deployment's own v2: the progress of the move. The files of the folder read all data that the store
//! holds of a workspace, and record the workspaces that have been left (moved completely).
//!
//! May use: `units`, this folder.

mod alone;
mod held;
mod items;
mod left;

pub use alone::LeavingLock;
pub use held::HeldOverlay;
pub use items::RecordedItem;
pub use left::LeftWorkspace;

use super::error::StoreError;
use super::rows::{all, at_once, cells, placeholder_rows, query, sql, with_cells};
use super::service::Store;
use crate::units::now_micros;
use uuid::Uuid;

/// Progress of moving one record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaveRecord {
    /// Kind of record.
    pub kind: String,
    /// Its id here.
    pub own: Uuid,
    /// Its id at the target; none until it is known to be created there.
    pub theirs: Option<String>,
    /// Fingerprint of the data that was moved.
    pub digest: String,
    /// Whether it was moved completely.
    pub is_done: bool,
}

const COLUMNS: &str = "target, workspace_id, kind, own_id, target_id, digest, done_at";

impl Store {
    /// Returns the progress of moving the records of a workspace to `target`.
    pub async fn leave_records(&self, target: &str, workspace: Uuid) -> Result<Vec<LeaveRecord>, StoreError> {
        let text = "SELECT kind, own_id, target_id, digest, done_at FROM leave_record \
                    WHERE target = $1 AND workspace_id = $2 ORDER BY kind, own_id";
        all(self.engine.pool(), query(text, &[&target, &workspace]), |cells| {
            Ok(LeaveRecord {
                kind: cells.next()?,
                own: cells.next()?,
                theirs: cells.next()?,
                digest: cells.next()?,
                is_done: cells.next::<Option<i64>>()?.is_some(),
            })
        })
        .await
    }

    /// Records the progress of moving records; all of them or none.
    pub async fn note_leave(
        &self,
        target: &str,
        workspace: Uuid,
        records: &[LeaveRecord],
    ) -> Result<(), StoreError> {
        let mut writing = self.engine.writing().await?;
        for records in at_once(records) {
            let text = format!(
                "INSERT INTO leave_record ({COLUMNS}) VALUES {} ON CONFLICT (target, workspace_id, kind, own_id) \
                 DO UPDATE SET target_id = excluded.target_id, digest = excluded.digest, done_at = excluded.done_at",
                placeholder_rows(records.len(), 7)
            );
            let cells = records.iter().flat_map(|record| {
                let done_at = record.is_done.then(now_micros);
                cells([&target, &workspace, &record.kind, &record.own, &record.theirs, &record.digest, &done_at])
            });
            writing.run(with_cells(sql(text), cells)).await?;
        }
        writing.commit().await
    }
}

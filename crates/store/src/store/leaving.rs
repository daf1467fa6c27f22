//! What is carried to a deployment's own v2: how far the carrying has come and, in the folder, all that is held of a
//! workspace, and which workspaces have been left so.
//!
//! May use: `units`, this folder.

mod alone;
mod held;
mod items;
mod left;

pub use alone::CarryingAlone;
pub use held::HeldOverlay;
pub use items::RecordedItem;
pub use left::LeftWorkspace;

use super::error::StoreError;
use super::rows::{all, at_once, cells, query, rows_of_places, sql, with_cells};
use super::service::Store;
use crate::units::now_micros;
use uuid::Uuid;

/// How far one record was carried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaveRecord {
    /// What it is.
    pub kind: String,
    /// Its id here.
    pub own: Uuid,
    /// Its id there; none as long as it is not known to be made.
    pub theirs: Option<String>,
    /// Fingerprint of what was carried.
    pub digest: String,
    /// Whether it was carried whole.
    pub is_done: bool,
}

const COLUMNS: &str = "target, workspace_id, kind, own_id, target_id, digest, done_at";

impl Store {
    /// How far the records of a workspace were carried to `target`.
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

    /// Notes how far records were carried, all or none.
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
                rows_of_places(records.len(), 7)
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

impl Store {}

//! What is carried to a deployment's own v2: all that is held of a workspace, how far the carrying has come, and which
//! workspaces have been left so.
//!
//! One run at a time carries: two would make the same records there twice. With PostgreSQL it is a lock of a session, with
//! SQLite one on a file beside the store; both are gone when the process is.
//!
//! May use: `units`, `v2` (times), this folder.

use super::error::StoreError;
use super::kind::Kind;
use super::overlay::OverlayValue;
use super::peers::{Alone, CARRIES, NotTaken};
use super::place::file_of;
use super::recorded::{Element, ItemValues};
use super::rows::{Cells, all, at_once, cells, query, read_from_its_columns, rows_of_places, sql, with_cells};
use super::service::Store;
use super::snapshots::AloneAmongAll;
use crate::units::now_micros;
use crate::v2::time::Micros;
use sqlx::Row;
use std::collections::{HashMap, HashSet};
use std::time::Duration;
use tokio::time::{Instant, sleep};
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

/// What is recorded about a work item, its values aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedItem {
    /// The item.
    pub id: Uuid,
    /// Its project.
    pub project_id: Uuid,
    /// Its type.
    pub type_id: Option<Uuid>,
    /// When it was archived through the gateway.
    pub archived_at: Option<Micros>,
    /// Its number within the project, as it was when it was archived.
    pub archived_number: Option<i64>,
    /// Its name, as it was when it was archived.
    pub archived_name: Option<String>,
}

/// An overlaid field of a record of v1.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldOverlay {
    /// Kind of record.
    pub kind: String,
    /// The record.
    pub record: Uuid,
    /// Field, value, and what v1 showed.
    pub value: OverlayValue,
}

/// A workspace that has been left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftWorkspace {
    /// What it is called in paths.
    pub slug: String,
    /// Where its records went.
    pub url: String,
}

read_from_its_columns!(RecordedItem: id, project_id, type_id, archived_at, archived_number, archived_name);
read_from_its_columns!(LeftWorkspace: slug, url);

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

    /// Workspaces of which anything is held.
    pub async fn workspaces_held(&self) -> Result<Vec<Uuid>, StoreError> {
        let text = "SELECT id FROM workspace UNION SELECT workspace_id FROM work_item \
                    UNION SELECT workspace_id FROM overlay ORDER BY 1";
        all(self.engine.pool(), query(text, &[]), |cells| cells.next()).await
    }

    /// What is recorded about work items of a workspace.
    pub async fn recorded_items(&self, workspace: Uuid) -> Result<Vec<RecordedItem>, StoreError> {
        let columns = RecordedItem::COLUMNS;
        let text = format!("SELECT {columns} FROM work_item WHERE workspace_id = $1 ORDER BY project_id, id");
        all(self.engine.pool(), query(sql(text), &[&workspace]), RecordedItem::read).await
    }

    /// Custom values of all work items of a project; items without any are left out.
    pub async fn recorded_values(&self, project: Uuid) -> Result<HashMap<Uuid, ItemValues>, StoreError> {
        let text = "SELECT work_item_id, property_id, value, option_id FROM custom_value WHERE work_item_id IN \
                    (SELECT id FROM work_item WHERE project_id = $1) ORDER BY work_item_id, property_id, position";
        let rows = query(text, &[&project]).fetch_all(self.engine.pool()).await?;
        let mut found: HashMap<Uuid, ItemValues> = HashMap::new();
        for row in &rows {
            let mut cells = Cells::of(row);
            let (item, property) = (cells.next()?, cells.next()?);
            let element = Element { value: cells.next()?, option: cells.next()? };
            found.entry(item).or_default().entry(property).or_default().push(element);
        }
        Ok(found)
    }

    /// Overlaid fields of records of a workspace.
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

    /// Entries of the audit log of a workspace.
    pub async fn audit_entries(&self, workspace: Uuid) -> Result<i64, StoreError> {
        self.counted("SELECT COUNT(*) FROM audit_log WHERE workspace_id = $1", workspace).await
    }

    /// Writes of a workspace that are not settled between v1 and the store.
    pub async fn unsettled_writes(&self, workspace: Uuid) -> Result<i64, StoreError> {
        self.counted("SELECT COUNT(*) FROM intent WHERE settled_at IS NULL AND workspace_id = $1", workspace).await
    }

    /// Ids of all types and properties that were ever defined in a workspace, deleted ones included.
    pub async fn ids_ever_given(&self, workspace: Uuid) -> Result<HashSet<Uuid>, StoreError> {
        let text = "SELECT id FROM work_item_type WHERE workspace_id = $1 \
                    UNION SELECT id FROM property WHERE workspace_id = $1";
        all(self.engine.pool(), query(text, &[&workspace]), |cells| cells.next()).await
    }

    /// Notes that what this store holds of the workspace `slug` has been carried over to the v2 at `url`, and checked
    /// there. A later note takes the place of an earlier one.
    pub async fn mark_left(&self, slug: &str, url: &str) -> Result<(), StoreError> {
        let text = "INSERT INTO left_workspaces (slug, url, left_at) VALUES ($1, $2, $3) ON CONFLICT (slug) \
                    DO UPDATE SET url = excluded.url, left_at = excluded.left_at";
        self.engine.write(query(text, &[&slug, &url, &now_micros()])).await.map(drop)
    }

    /// The workspace `slug` when it has been left.
    pub async fn left(&self, slug: &str) -> Result<Option<LeftWorkspace>, StoreError> {
        Ok(self.left_workspaces().await?.into_iter().find(|left| left.slug == slug))
    }

    /// All workspaces that have been left, in the order of their names.
    pub async fn left_workspaces(&self) -> Result<Vec<LeftWorkspace>, StoreError> {
        let text = format!("SELECT {} FROM left_workspaces ORDER BY slug", LeftWorkspace::COLUMNS);
        all(self.engine.pool(), query(sql(text), &[]), LeftWorkspace::read).await
    }

    async fn counted(&self, text: &'static str, workspace: Uuid) -> Result<i64, StoreError> {
        Ok(query(text, &[&workspace]).fetch_one(self.engine.pool()).await?.try_get(0)?)
    }
}

/// How long a run waits: a server may need a moment to notice that a killed one is gone.
const PATIENCE: Duration = Duration::from_secs(3);
/// Time from one try to the next.
const AGAIN: Duration = Duration::from_millis(100);

/// The right to carry; given up when this is dropped or the process ends.
pub struct CarryingAlone {
    _on_server: Option<AloneAmongAll>,
    _beside_file: Option<Alone>,
}

impl Store {
    /// Takes the store at `url`, which is this one, for a run that carries; none while another run has it. A store that
    /// can only be read is not locked: a run fails at its first note.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be asked, or the lock cannot be opened.
    pub async fn carrying_alone(&self, url: &str) -> Result<Option<CarryingAlone>, StoreError> {
        if self.engine.kind() == Kind::Postgres {
            let end = Instant::now() + PATIENCE;
            loop {
                let taken = self.alone_among_all("causeway leave").await?;
                if taken.is_some() || Instant::now() > end {
                    return Ok(taken.map(|taken| CarryingAlone { _on_server: Some(taken), _beside_file: None }));
                }
                sleep(AGAIN).await;
            }
        }
        let beside = match file_of(url).filter(|_| !self.is_read_only()) {
            None => None,
            Some(file) => match Alone::take(&file, CARRIES, PATIENCE).await {
                Ok(taken) => Some(taken),
                Err(NotTaken::Taken) => return Ok(None),
                Err(NotTaken::Unusable { lock, cause }) => {
                    return Err(StoreError::NoLock { lock, cause: cause.to_string() });
                }
            },
        };
        Ok(Some(CarryingAlone { _on_server: None, _beside_file: beside }))
    }
}

//! A write that concerns v1 and the store, noted before v1 is asked: what it is, how it is read from its row, and
//! which ones run in this process.
//!
//! May use: `units`, `v2` (times), this folder.

use super::error::StoreError;
use super::recorded::OwnWrite;
use super::rows::{Cells, all, query, sql};
use super::session::Session;
use crate::units::now_micros;
use crate::v2::time::Micros;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::HashSet;
use std::str::FromStr;
use std::sync::Arc;
use strum::{EnumString, IntoStaticStr};
use uuid::Uuid;

/// Columns of a row, in the order in which [`read`] takes them.
pub(super) const COLUMNS: &str =
    "id, workspace_id, project_id, kind, work_item_id, user_id, sent, own, state, began_at, process_id";

/// What v1 was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum IntentKind {
    /// A new work item.
    Create,
    /// A change of one.
    Update,
    /// The end of one.
    Delete,
}

/// How far a write has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum IntentState {
    /// Its request runs, or ran when its process ended.
    Open,
    /// Its request ended without knowing what v1 did.
    Lost,
    /// Several new items could be the one.
    Ambiguous,
    /// The item was changed otherwise.
    Conflicting,
}

/// A write that is not settled.
#[derive(Debug, Clone, PartialEq)]
pub struct Intent {
    /// Its id.
    pub id: Uuid,
    /// Workspace.
    pub workspace: Uuid,
    /// Project.
    pub project: Uuid,
    /// What v1 was asked for.
    pub kind: IntentKind,
    /// The addressed work item; none for a create.
    pub item: Option<Uuid>,
    /// Who asked.
    pub user: Uuid,
    /// What v1 was sent and what it showed before, in v1 names.
    pub sent: Value,
    /// What is to be stored.
    pub own: OwnWrite,
    /// How far it has come.
    pub state: IntentState,
    /// When it began.
    pub began_at: Micros,
    /// The gateway process whose request it is; none for one of an older version.
    pub process: Option<Uuid>,
}

/// What became of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// v1 has it, on this item: type and values are stored.
    Done(Uuid),
    /// v1 has deleted this item: the records of it go.
    Purged(Uuid),
    /// v1 does not have it: nothing is stored.
    Dropped,
}

/// Intents whose request runs in this process.
#[derive(Debug, Default)]
pub(super) struct Running(Mutex<HashSet<Uuid>>);

impl Running {
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut HashSet<Uuid>) -> T) -> T {
        act(&mut self.0.lock())
    }
}

/// An intent whose request runs; others leave it alone until this is dropped.
#[derive(Debug)]
pub struct RunningIntent {
    /// The intent.
    pub intent: Intent,
    pub(super) running: Arc<Running>,
}

impl Drop for RunningIntent {
    fn drop(&mut self) {
        self.running.with(|ids| ids.remove(&self.intent.id));
    }
}

impl IntentKind {
    pub(super) fn word(self) -> &'static str {
        self.into()
    }
}

impl IntentState {
    /// The word in the table.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

impl Intent {
    /// A write that begins now.
    pub fn new(
        kind: IntentKind,
        (workspace, project): (Uuid, Uuid),
        item: Option<Uuid>,
        user: Uuid,
        sent: Value,
        own: OwnWrite,
    ) -> Self {
        let (id, began_at, state) = (Uuid::new_v4(), now_micros(), IntentState::Open);
        Self { id, workspace, project, kind, item, user, sent, own, state, began_at, process: None }
    }
}

/// Open writes of a project, oldest first.
pub(super) async fn open_of(connection: &mut Session, project: Uuid) -> Result<Vec<Intent>, StoreError> {
    let text =
        format!("SELECT {COLUMNS} FROM intent WHERE project_id = $1 AND settled_at IS NULL ORDER BY began_at, id");
    all(connection, query(sql(text), &[&project]), read).await
}

/// A note from its row.
pub(super) fn read(cells: &mut Cells<'_>) -> Result<Intent, StoreError> {
    Ok(Intent {
        id: cells.next()?,
        workspace: cells.next()?,
        project: cells.next()?,
        kind: word(cells, "kind of an intent")?,
        item: cells.next()?,
        user: cells.next()?,
        sent: json(cells)?,
        own: json(cells)?,
        state: word(cells, "state of an intent")?,
        began_at: cells.next()?,
        process: cells.next()?,
    })
}

fn word<T: FromStr>(cells: &mut Cells<'_>, what: &str) -> Result<T, StoreError> {
    let word: String = cells.next()?;
    word.parse().map_err(|_| StoreError::unreadable(what, &word))
}

fn json<T: DeserializeOwned>(cells: &mut Cells<'_>) -> Result<T, StoreError> {
    let text: String = cells.next()?;
    serde_json::from_str(&text).map_err(|_| StoreError::unreadable("intent", &text))
}

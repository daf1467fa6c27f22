//! A write that concerns v1 and the store, recorded before the request to v1, and its outcome.
//!
//! May use: `units`, `v2` (times), this folder.

use super::recorded::OwnWrite;
use crate::units::now_micros;
use crate::v2::time::Micros;
use serde_json::Value;
use strum::{EnumString, IntoStaticStr};
use uuid::Uuid;

/// Kind of request to v1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum IntentKind {
    /// Create a work item.
    Create,
    /// Change a work item.
    Update,
    /// Delete a work item.
    Delete,
}

/// Progress of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum IntentState {
    /// Its request is running, or was running when its process ended.
    Open,
    /// Its request ended without knowing the outcome at v1.
    Lost,
    /// Several new items could be the created one.
    Ambiguous,
    /// The item was changed in another way.
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
    /// Kind of request to v1.
    pub kind: IntentKind,
    /// The addressed work item; none for a create.
    pub item: Option<Uuid>,
    /// The person who made the request.
    pub user: Uuid,
    /// The values sent to v1 and those that v1 showed before, in v1 names.
    pub sent: Value,
    /// The data to be stored.
    pub own: OwnWrite,
    /// Progress.
    pub state: IntentState,
    /// Time when it began.
    pub began_at: Micros,
    /// The gateway process of the request; none for a write of an older version.
    pub process: Option<Uuid>,
}

/// Outcome of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// v1 has carried it out on this item: type and values are stored.
    Done(Uuid),
    /// v1 has deleted this item: its records are removed.
    Purged(Uuid),
    /// v1 has not carried it out: nothing is stored.
    Dropped,
}

impl IntentState {
    /// Returns the word used in the table.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

impl Intent {
    /// Creates a write that begins now.
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

//! A write that concerns v1 and the store, noted before v1 is asked: what it is, and what becomes of it.
//!
//! May use: `units`, `v2` (times), this folder.

use super::recorded::OwnWrite;
use crate::units::now_micros;
use crate::v2::time::Micros;
use serde_json::Value;
use strum::{EnumString, IntoStaticStr};
use uuid::Uuid;

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

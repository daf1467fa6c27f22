//! The kinds of record the sandbox keeps. Plain data; uses only ids and instants.

use jiff::Timestamp;
use jiff::civil::Date;
use serde_json::Value;

use super::store::{Id, Row};

macro_rules! row {
    ($kind:ty, $owner:ident) => {
        impl Row for $kind {
            fn id(&self) -> Id {
                self.id
            }
            fn owner(&self) -> Id {
                self.$owner
            }
            fn gone(&self) -> bool {
                self.deleted_at.is_some()
            }
        }
    };
    ($kind:ty, $owner:ident, never deleted) => {
        impl Row for $kind {
            fn id(&self) -> Id {
                self.id
            }
            fn owner(&self) -> Id {
                self.$owner
            }
            fn gone(&self) -> bool {
                false
            }
        }
    };
}

/// Who made and last changed a record, and when.
#[derive(Debug, Clone)]
pub(super) struct Stamp {
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
    pub(super) created_by: Option<Id>,
    pub(super) updated_by: Option<Id>,
}

impl Stamp {
    /// Made just now by that person, not changed since.
    pub(super) fn new(by: Id, now: Timestamp) -> Self {
        Self { created_at: now, updated_at: now, created_by: Some(by), updated_by: None }
    }

    /// Notes a change.
    pub(super) fn change(&mut self, by: Id, now: Timestamp) {
        self.updated_at = now;
        self.updated_by = Some(by);
    }
}

/// The two optional names a record has in another system.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct External {
    pub(super) source: Option<String>,
    pub(super) id: Option<String>,
}

/// A person.
#[derive(Debug)]
pub(super) struct User {
    pub(super) id: Id,
    pub(super) first_name: String,
    pub(super) last_name: String,
    pub(super) email: String,
    pub(super) display_name: String,
    pub(super) zone: String,
}
row!(User, id, never deleted);

/// A key: whose it is and whether it opens anything.
#[derive(Debug)]
pub(super) struct ApiKey {
    pub(super) user: Id,
    /// Neither expired nor switched off.
    pub(super) valid: bool,
    /// Flagged as service key: a larger fixed quota.
    pub(super) service: bool,
}

/// A workspace.
#[derive(Debug)]
pub(super) struct Workspace {
    pub(super) id: Id,
    pub(super) slug: String,
    pub(super) name: String,
}

/// A person's place in a workspace.
#[derive(Debug)]
pub(super) struct WorkspaceMember {
    pub(super) id: Id,
    pub(super) workspace: Id,
    pub(super) user: Id,
    pub(super) role: u8,
    pub(super) active: bool,
}
row!(WorkspaceMember, workspace, never deleted);

/// A project.
#[derive(Debug, Clone)]
pub(super) struct Project {
    pub(super) id: Id,
    pub(super) workspace: Id,
    pub(super) stamp: Stamp,
    pub(super) deleted_at: Option<Timestamp>,
    pub(super) archived_at: Option<Timestamp>,
    pub(super) name: String,
    pub(super) identifier: String,
    pub(super) description: String,
    pub(super) network: u8,
    pub(super) emoji: Option<String>,
    pub(super) cover_image: Option<String>,
    pub(super) module_view: bool,
    pub(super) cycle_view: bool,
    pub(super) issue_views_view: bool,
    pub(super) page_view: bool,
    pub(super) intake_view: bool,
    pub(super) is_time_tracking_enabled: bool,
    pub(super) is_issue_type_enabled: bool,
    pub(super) guest_view_all_features: bool,
    pub(super) archive_in: i64,
    pub(super) close_in: i64,
    pub(super) logo_props: Value,
    pub(super) timezone: String,
    pub(super) external: External,
    pub(super) default_assignee: Option<Id>,
    pub(super) project_lead: Option<Id>,
    pub(super) default_state: Option<Id>,
    pub(super) estimate: Option<Id>,
    /// The intake box, which exists once the switch was on.
    pub(super) intake: Option<Id>,
    /// The last work item number given out; never given again.
    pub(super) last_number: i64,
}
row!(Project, workspace);

/// A person's place in a project.
#[derive(Debug)]
pub(super) struct ProjectMember {
    pub(super) id: Id,
    pub(super) project: Id,
    pub(super) user: Id,
    pub(super) role: u8,
    pub(super) active: bool,
    pub(super) sort_order: f64,
    pub(super) deleted_at: Option<Timestamp>,
}
row!(ProjectMember, project);

/// A state of work items.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) id: Id,
    pub(super) project: Id,
    pub(super) workspace: Id,
    pub(super) stamp: Stamp,
    pub(super) deleted_at: Option<Timestamp>,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) color: String,
    pub(super) slug: String,
    pub(super) sequence: f64,
    pub(super) group: String,
    pub(super) is_triage: bool,
    pub(super) default: bool,
    pub(super) external: External,
}
row!(State, project);

impl State {
    /// Whether reads leave it out.
    pub(super) fn hidden(&self) -> bool {
        self.is_triage || self.group == "triage"
    }
}

/// A label; one without project belongs to the whole workspace.
#[derive(Debug, Clone)]
pub(super) struct Label {
    pub(super) id: Id,
    pub(super) workspace: Id,
    pub(super) project: Option<Id>,
    /// The project, or the workspace if there is none.
    pub(super) home: Id,
    pub(super) stamp: Stamp,
    pub(super) deleted_at: Option<Timestamp>,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) color: String,
    pub(super) sort_order: f64,
    pub(super) parent: Option<Id>,
    pub(super) external: External,
}
row!(Label, home);

/// A cycle.
#[derive(Debug, Clone)]
pub(super) struct Cycle {
    pub(super) id: Id,
    pub(super) project: Id,
    pub(super) workspace: Id,
    pub(super) stamp: Stamp,
    pub(super) deleted_at: Option<Timestamp>,
    pub(super) archived_at: Option<Timestamp>,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) start_date: Option<Timestamp>,
    pub(super) end_date: Option<Timestamp>,
    pub(super) timezone: String,
    pub(super) sort_order: f64,
    pub(super) owned_by: Id,
    pub(super) external: External,
}
row!(Cycle, project);

/// A work item in a cycle. Moving it to another cycle keeps the row (`cycle_items_move_to_other_cycle`),
/// so these are grouped by project.
#[derive(Debug, Clone)]
pub(super) struct CycleItem {
    pub(super) id: Id,
    pub(super) cycle: Id,
    pub(super) item: Id,
    pub(super) project: Id,
    pub(super) workspace: Id,
    pub(super) stamp: Stamp,
    pub(super) deleted_at: Option<Timestamp>,
}
row!(CycleItem, project);

/// A module.
#[derive(Debug, Clone)]
pub(super) struct Module {
    pub(super) id: Id,
    pub(super) project: Id,
    pub(super) workspace: Id,
    pub(super) stamp: Stamp,
    pub(super) deleted_at: Option<Timestamp>,
    pub(super) archived_at: Option<Timestamp>,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) status: String,
    pub(super) start_date: Option<Date>,
    pub(super) target_date: Option<Date>,
    pub(super) lead: Option<Id>,
    /// Everybody who ever was a member, once per time (`modules_get_after_members_again`).
    pub(super) members: Vec<Id>,
    pub(super) sort_order: f64,
    pub(super) external: External,
}
row!(Module, project);

/// A work item in a module.
#[derive(Debug, Clone)]
pub(super) struct ModuleItem {
    pub(super) id: Id,
    pub(super) module: Id,
    pub(super) item: Id,
    pub(super) project: Id,
    pub(super) workspace: Id,
    pub(super) stamp: Stamp,
    pub(super) deleted_at: Option<Timestamp>,
}
row!(ModuleItem, module);

/// A work item.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) id: Id,
    pub(super) project: Id,
    pub(super) workspace: Id,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
    pub(super) created_by: Option<Id>,
    pub(super) updated_by: Option<Id>,
    pub(super) deleted_at: Option<Timestamp>,
    pub(super) name: String,
    pub(super) description_html: String,
    pub(super) priority: &'static str,
    pub(super) point: Option<i64>,
    pub(super) start_date: Option<Date>,
    pub(super) target_date: Option<Date>,
    pub(super) sequence_id: i64,
    pub(super) sort_order: f64,
    pub(super) completed_at: Option<Timestamp>,
    pub(super) archived_at: Option<Date>,
    pub(super) is_draft: bool,
    pub(super) external: External,
    pub(super) parent: Option<Id>,
    pub(super) state: Id,
    pub(super) estimate_point: Option<Id>,
    pub(super) type_id: Option<Id>,
    /// In the order of the project memberships, oldest first.
    pub(super) assignees: Vec<Id>,
    /// Oldest label first.
    pub(super) labels: Vec<Id>,
}
row!(Item, project);

/// A comment.
#[derive(Debug, Clone)]
pub(super) struct Comment {
    pub(super) id: Id,
    pub(super) item: Id,
    pub(super) project: Id,
    pub(super) workspace: Id,
    pub(super) stamp: Stamp,
    pub(super) deleted_at: Option<Timestamp>,
    pub(super) html: String,
    pub(super) access: String,
    pub(super) actor: Id,
    pub(super) description: Id,
    pub(super) external: External,
}
row!(Comment, item);

/// A link of a work item.
#[derive(Debug, Clone)]
pub(super) struct Link {
    pub(super) id: Id,
    pub(super) item: Id,
    pub(super) project: Id,
    pub(super) workspace: Id,
    pub(super) stamp: Stamp,
    pub(super) deleted_at: Option<Timestamp>,
    pub(super) title: Option<String>,
    pub(super) url: String,
    pub(super) metadata: Value,
}
row!(Link, item);

/// A relation between two work items, stored from the blocked or earlier side.
#[derive(Debug, Clone)]
pub(super) struct Relation {
    pub(super) id: Id,
    pub(super) project: Id,
    pub(super) item: Id,
    pub(super) related: Id,
    pub(super) kind: &'static str,
}
row!(Relation, project, never deleted);

/// An entry of a work item's history.
#[derive(Debug, Clone)]
pub(super) struct Activity {
    pub(super) id: Id,
    pub(super) item: Id,
    pub(super) project: Id,
    pub(super) workspace: Id,
    pub(super) at: Timestamp,
    pub(super) actor: Id,
    pub(super) verb: &'static str,
    pub(super) field: Option<String>,
    pub(super) old_value: Option<String>,
    pub(super) new_value: Option<String>,
    pub(super) comment: String,
    pub(super) old_identifier: Option<Id>,
    pub(super) new_identifier: Option<Id>,
}
row!(Activity, item, never deleted);

/// A request in the intake box and the work item behind it.
#[derive(Debug, Clone)]
pub(super) struct IntakeEntry {
    pub(super) id: Id,
    pub(super) project: Id,
    pub(super) workspace: Id,
    pub(super) intake: Id,
    pub(super) item: Id,
    pub(super) status: i64,
    pub(super) stamp: Stamp,
    pub(super) deleted_at: Option<Timestamp>,
}
row!(IntakeEntry, project);

/// A work item type; v1 has no route for them.
#[derive(Debug)]
pub(super) struct ItemType {
    pub(super) id: Id,
}

/// A point of an estimate; v1 has no route for them.
#[derive(Debug)]
pub(super) struct EstimatePoint {
    pub(super) id: Id,
    pub(super) project: Id,
    pub(super) workspace: Id,
    pub(super) estimate: Id,
    pub(super) key: i64,
    pub(super) value: String,
    pub(super) stamp: Stamp,
}

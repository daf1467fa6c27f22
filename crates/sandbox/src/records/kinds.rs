//! The kinds of record that the sandbox keeps. Plain data with ids and instants only. May use: this folder.

use jiff::Timestamp;
use jiff::civil::Date;
use serde_json::Value;

use crate::records::table::{Id, Row};

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

/// Author and last changer of a record, and the times of creation and last change.
#[derive(Debug, Clone)]
pub(crate) struct Stamp {
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) created_by: Option<Id>,
    pub(crate) updated_by: Option<Id>,
}

impl Stamp {
    /// Creates the stamp of a record that `by` creates now.
    pub(crate) fn new(by: Id, now: Timestamp) -> Self {
        Self { created_at: now, updated_at: now, created_by: Some(by), updated_by: None }
    }

    /// Notes a change.
    pub(crate) fn change(&mut self, by: Id, now: Timestamp) {
        self.updated_at = now;
        self.updated_by = Some(by);
    }
}

/// The external pair: two optional names that a record has in another system.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct External {
    pub(crate) source: Option<String>,
    pub(crate) id: Option<String>,
}

/// A person.
#[derive(Debug)]
pub(crate) struct User {
    pub(crate) id: Id,
    pub(crate) first_name: String,
    pub(crate) last_name: String,
    pub(crate) email: String,
    pub(crate) display_name: String,
    pub(crate) zone: String,
}
row!(User, id, never deleted);

/// A key: its owner, and whether it is valid.
#[derive(Debug)]
pub(crate) struct ApiKey {
    pub(crate) user: Id,
    /// Whether it is neither expired nor switched off.
    pub(crate) valid: bool,
    /// Whether it is a service key, which has a larger fixed quota.
    pub(crate) service: bool,
}

/// A workspace.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) id: Id,
    pub(crate) slug: String,
    pub(crate) name: String,
}

/// Membership of a person in a workspace.
#[derive(Debug)]
pub(crate) struct WorkspaceMember {
    pub(crate) id: Id,
    pub(crate) workspace: Id,
    pub(crate) user: Id,
    pub(crate) role: u8,
    pub(crate) active: bool,
}
row!(WorkspaceMember, workspace, never deleted);

/// A project.
#[derive(Debug, Clone)]
pub(crate) struct Project {
    pub(crate) id: Id,
    pub(crate) workspace: Id,
    pub(crate) stamp: Stamp,
    pub(crate) deleted_at: Option<Timestamp>,
    pub(crate) archived_at: Option<Timestamp>,
    pub(crate) name: String,
    pub(crate) identifier: String,
    pub(crate) description: String,
    pub(crate) network: u8,
    pub(crate) emoji: Option<String>,
    pub(crate) cover_image: Option<String>,
    pub(crate) module_view: bool,
    pub(crate) cycle_view: bool,
    pub(crate) issue_views_view: bool,
    pub(crate) page_view: bool,
    pub(crate) intake_view: bool,
    pub(crate) is_time_tracking_enabled: bool,
    pub(crate) is_issue_type_enabled: bool,
    pub(crate) guest_view_all_features: bool,
    pub(crate) archive_in: i64,
    pub(crate) close_in: i64,
    pub(crate) logo_props: Value,
    pub(crate) timezone: String,
    pub(crate) external: External,
    pub(crate) default_assignee: Option<Id>,
    pub(crate) project_lead: Option<Id>,
    pub(crate) default_state: Option<Id>,
    pub(crate) estimate: Option<Id>,
    /// The intake box, which exists once the intake was switched on.
    pub(crate) intake: Option<Id>,
    /// The last work item number that was assigned. Numbers are never assigned again.
    pub(crate) last_number: i64,
}
row!(Project, workspace);

/// Membership of a person in a project.
#[derive(Debug)]
pub(crate) struct ProjectMember {
    pub(crate) id: Id,
    pub(crate) project: Id,
    pub(crate) user: Id,
    pub(crate) role: u8,
    pub(crate) active: bool,
    pub(crate) sort_order: f64,
    pub(crate) deleted_at: Option<Timestamp>,
}
row!(ProjectMember, project);

/// A state of work items.
#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) id: Id,
    pub(crate) project: Id,
    pub(crate) workspace: Id,
    pub(crate) stamp: Stamp,
    pub(crate) deleted_at: Option<Timestamp>,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) color: String,
    pub(crate) slug: String,
    pub(crate) sequence: f64,
    pub(crate) group: String,
    pub(crate) is_triage: bool,
    pub(crate) default: bool,
    pub(crate) external: External,
}
row!(State, project);

impl State {
    /// Whether reads leave the state out.
    pub(crate) fn hidden(&self) -> bool {
        self.is_triage || self.group == "triage"
    }
}

/// A label; a label without a project belongs to the whole workspace.
#[derive(Debug, Clone)]
pub(crate) struct Label {
    pub(crate) id: Id,
    pub(crate) workspace: Id,
    pub(crate) project: Option<Id>,
    /// The project, or the workspace if there is none.
    pub(crate) home: Id,
    pub(crate) stamp: Stamp,
    pub(crate) deleted_at: Option<Timestamp>,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) color: String,
    pub(crate) sort_order: f64,
    pub(crate) parent: Option<Id>,
    pub(crate) external: External,
}
row!(Label, home);

/// A cycle.
#[derive(Debug, Clone)]
pub(crate) struct Cycle {
    pub(crate) id: Id,
    pub(crate) project: Id,
    pub(crate) workspace: Id,
    pub(crate) stamp: Stamp,
    pub(crate) deleted_at: Option<Timestamp>,
    pub(crate) archived_at: Option<Timestamp>,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) start_date: Option<Timestamp>,
    pub(crate) end_date: Option<Timestamp>,
    pub(crate) timezone: String,
    pub(crate) sort_order: f64,
    pub(crate) owned_by: Id,
    pub(crate) external: External,
}
row!(Cycle, project);

/// A work item in a cycle. Moving it to another cycle keeps the row (`cycle_items_move_to_other_cycle`),
/// so the rows are grouped by project.
#[derive(Debug, Clone)]
pub(crate) struct CycleItem {
    pub(crate) id: Id,
    pub(crate) cycle: Id,
    pub(crate) item: Id,
    pub(crate) project: Id,
    pub(crate) workspace: Id,
    pub(crate) stamp: Stamp,
    pub(crate) deleted_at: Option<Timestamp>,
}
row!(CycleItem, project);

/// A module.
#[derive(Debug, Clone)]
pub(crate) struct Module {
    pub(crate) id: Id,
    pub(crate) project: Id,
    pub(crate) workspace: Id,
    pub(crate) stamp: Stamp,
    pub(crate) deleted_at: Option<Timestamp>,
    pub(crate) archived_at: Option<Timestamp>,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) status: String,
    pub(crate) start_date: Option<Date>,
    pub(crate) target_date: Option<Date>,
    pub(crate) lead: Option<Id>,
    /// Every person that ever was a member, once for each time (`modules_get_after_members_again`).
    pub(crate) members: Vec<Id>,
    pub(crate) sort_order: f64,
    pub(crate) external: External,
}
row!(Module, project);

/// A work item in a module.
#[derive(Debug, Clone)]
pub(crate) struct ModuleItem {
    pub(crate) id: Id,
    pub(crate) module: Id,
    pub(crate) item: Id,
    pub(crate) project: Id,
    pub(crate) workspace: Id,
    pub(crate) stamp: Stamp,
    pub(crate) deleted_at: Option<Timestamp>,
}
row!(ModuleItem, module);

/// A work item.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) id: Id,
    pub(crate) project: Id,
    pub(crate) workspace: Id,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) created_by: Option<Id>,
    pub(crate) updated_by: Option<Id>,
    pub(crate) deleted_at: Option<Timestamp>,
    pub(crate) name: String,
    pub(crate) description_html: String,
    pub(crate) priority: &'static str,
    pub(crate) point: Option<i64>,
    pub(crate) start_date: Option<Date>,
    pub(crate) target_date: Option<Date>,
    pub(crate) sequence_id: i64,
    pub(crate) sort_order: f64,
    pub(crate) completed_at: Option<Timestamp>,
    pub(crate) archived_at: Option<Date>,
    pub(crate) is_draft: bool,
    pub(crate) external: External,
    pub(crate) parent: Option<Id>,
    pub(crate) state: Id,
    pub(crate) estimate_point: Option<Id>,
    pub(crate) type_id: Option<Id>,
    /// In the order of the project memberships, oldest first.
    pub(crate) assignees: Vec<Id>,
    /// Oldest label first.
    pub(crate) labels: Vec<Id>,
}
row!(Item, project);

/// A comment.
#[derive(Debug, Clone)]
pub(crate) struct Comment {
    pub(crate) id: Id,
    pub(crate) item: Id,
    pub(crate) project: Id,
    pub(crate) workspace: Id,
    pub(crate) stamp: Stamp,
    pub(crate) deleted_at: Option<Timestamp>,
    pub(crate) html: String,
    pub(crate) access: String,
    pub(crate) actor: Id,
    pub(crate) description: Id,
    pub(crate) external: External,
}
row!(Comment, item);

/// A link of a work item.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    pub(crate) id: Id,
    pub(crate) item: Id,
    pub(crate) project: Id,
    pub(crate) workspace: Id,
    pub(crate) stamp: Stamp,
    pub(crate) deleted_at: Option<Timestamp>,
    pub(crate) title: Option<String>,
    pub(crate) url: String,
    pub(crate) metadata: Value,
}
row!(Link, item);

/// A relation between two work items, stored from the blocked or earlier item.
#[derive(Debug, Clone)]
pub(crate) struct Relation {
    pub(crate) id: Id,
    pub(crate) project: Id,
    pub(crate) item: Id,
    pub(crate) related: Id,
    pub(crate) kind: &'static str,
}
row!(Relation, project, never deleted);

/// An entry of a work item's history.
#[derive(Debug, Clone)]
pub(crate) struct Activity {
    pub(crate) id: Id,
    pub(crate) item: Id,
    pub(crate) project: Id,
    pub(crate) workspace: Id,
    pub(crate) at: Timestamp,
    pub(crate) actor: Id,
    pub(crate) verb: &'static str,
    pub(crate) field: Option<String>,
    pub(crate) old_value: Option<String>,
    pub(crate) new_value: Option<String>,
    pub(crate) comment: String,
    pub(crate) old_identifier: Option<Id>,
    pub(crate) new_identifier: Option<Id>,
}
row!(Activity, item, never deleted);

/// A request in the intake box and the work item behind it.
#[derive(Debug, Clone)]
pub(crate) struct IntakeEntry {
    pub(crate) id: Id,
    pub(crate) project: Id,
    pub(crate) workspace: Id,
    pub(crate) intake: Id,
    pub(crate) item: Id,
    pub(crate) status: i64,
    pub(crate) stamp: Stamp,
    pub(crate) deleted_at: Option<Timestamp>,
}
row!(IntakeEntry, project);

/// A work item type; v1 has no route for them.
#[derive(Debug)]
pub(crate) struct ItemType {
    pub(crate) id: Id,
}

/// A point of an estimate; v1 has no route for them.
#[derive(Debug)]
pub(crate) struct EstimatePoint {
    pub(crate) id: Id,
    pub(crate) project: Id,
    pub(crate) workspace: Id,
    pub(crate) estimate: Id,
    pub(crate) key: i64,
    pub(crate) value: String,
    pub(crate) stamp: Stamp,
}

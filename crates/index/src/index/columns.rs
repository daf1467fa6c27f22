//! Which column of the index each cell of a list call means, and what lists look up beside the rows.
//!
//! May use: `v2` (calls and cells).

use crate::v2::query::{ListCall, Test};
use crate::v2::record::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use uuid::Uuid;

/// A value of a work item that lists filter, order or search by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// Id.
    Id,
    /// Number within the project.
    SequenceId,
    /// Priority: a word to filters, semantic to orders.
    Priority,
    /// State.
    StateId,
    /// Group of the state: a word to filters, semantic to orders.
    StateGroup,
    /// Assigned people.
    AssigneeId,
    /// Applied labels that live.
    LabelId,
    /// Type.
    TypeId,
    /// Parent.
    ParentId,
    /// Cycles the item is in.
    CycleId,
    /// Modules the item is in.
    ModuleId,
    /// Draft or not.
    IsDraft,
    /// Correlation value.
    ExternalId,
    /// Origin of the correlation value.
    ExternalSource,
    /// Creation.
    CreatedAt,
    /// Last change.
    UpdatedAt,
    /// Planned start.
    StartDate,
    /// Planned end.
    TargetDate,
    /// Ordering weight.
    SortOrder,
    /// Title.
    Name,
}

/// Names of the columns, as fields of the resource.
const NAMES: [(&str, Column); 24] = [
    ("id", Column::Id),
    ("sequence_id", Column::SequenceId),
    ("priority", Column::Priority),
    ("state_id", Column::StateId),
    ("state_group", Column::StateGroup),
    ("assignee_id", Column::AssigneeId),
    ("assignee_ids", Column::AssigneeId),
    ("label_id", Column::LabelId),
    ("label_ids", Column::LabelId),
    ("type_id", Column::TypeId),
    ("parent_id", Column::ParentId),
    ("cycle_id", Column::CycleId),
    ("module_id", Column::ModuleId),
    ("is_draft", Column::IsDraft),
    ("external_id", Column::ExternalId),
    ("external_source", Column::ExternalSource),
    ("created_at", Column::CreatedAt),
    ("updated_at", Column::UpdatedAt),
    ("start_date", Column::StartDate),
    ("target_date", Column::TargetDate),
    ("sort_order", Column::SortOrder),
    ("name", Column::Name),
    ("cycle_ids", Column::CycleId),
    ("module_ids", Column::ModuleId),
];

/// The column of each cell of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns(Vec<Option<Column>>);

impl Columns {
    /// The columns of cells with these field names, in cell order.
    pub fn of<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        let column = |name: &str| NAMES.iter().find(|(known, _)| *known == name).map(|(_, column)| *column);
        Self(names.into_iter().map(column).collect())
    }

    /// The column of a cell; none for a field the index does not hold, which no row passes.
    pub fn get(&self, cell: usize) -> Option<Column> {
        self.0.get(cell).copied().flatten()
    }
}

/// Items by cycle or by module.
#[derive(Debug, Clone, Default)]
pub struct Memberships {
    /// Items of each set that a call names.
    pub named: HashMap<Uuid, Arc<HashSet<Uuid>>>,
    /// Items of any set, for calls that ask for items with or without one.
    pub any: Option<Arc<HashSet<Uuid>>>,
}

/// What a selection needs beside the rows; [`Needs::of`] tells which of it a call looks at.
#[derive(Debug, Clone, Default)]
pub struct Lookups {
    /// Position of each state's group in `translate::work_items::GROUPS`.
    pub group_of_state: HashMap<Uuid, u8>,
    /// Labels that exist; items keep the ids of deleted ones (v1 does not move `updated_at` then). None leaves
    /// labels as they are.
    pub live_labels: Option<HashSet<Uuid>>,
    /// Items by cycle.
    pub cycles: Memberships,
    /// Items by module.
    pub modules: Memberships,
    /// Types of items; those not in it have none.
    pub type_of: Arc<HashMap<Uuid, Uuid>>,
}

/// Which sets of items a call needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SetNeeds {
    /// Sets it names.
    pub named: Vec<Uuid>,
    /// Whether it asks for items in any set or in none.
    pub any: bool,
}

/// What of [`Lookups`] a call looks at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// Groups of states.
    pub groups: bool,
    /// Live labels, as far as filters go; rows to be shown need them too.
    pub labels: bool,
    /// Cycles.
    pub cycles: SetNeeds,
    /// Modules.
    pub modules: SetNeeds,
    /// Types.
    pub types: bool,
}

impl Needs {
    /// What `call` looks at.
    pub fn of(call: &ListCall, columns: &Columns) -> Self {
        let mut needs =
            Self { groups: columns.get(call.order.cell) == Some(Column::StateGroup), ..Self::default() };
        for condition in &call.conditions {
            match columns.get(condition.cell) {
                Some(Column::StateGroup) => needs.groups = true,
                Some(Column::LabelId) => needs.labels = true,
                Some(Column::TypeId) => needs.types = true,
                Some(Column::CycleId) => needs.cycles.add(&condition.test),
                Some(Column::ModuleId) => needs.modules.add(&condition.test),
                _ => {}
            }
        }
        needs
    }
}

impl SetNeeds {
    fn add(&mut self, test: &Test) {
        match test {
            Test::AnyOf(wanted) => {
                let ids = wanted.iter().filter_map(|cell| if let Cell::Id(id) = cell { Some(*id) } else { None });
                for id in ids {
                    if !self.named.contains(&id) {
                        self.named.push(id);
                    }
                }
            }
            _ => self.any = true,
        }
    }
}

//! Data that lists look up beside the rows.
//!
//! May use: `plan` (columns), `v2` (calls and cells).

use crate::plan::Column;
use crate::v2::query::{ListCall, Test};
use crate::v2::record::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use uuid::Uuid;

/// Items by cycle or by module.
#[derive(Debug, Clone, Default)]
pub struct Memberships {
    /// Items of each set that a call names.
    pub named: HashMap<Uuid, Arc<HashSet<Uuid>>>,
    /// Items of any set, for calls that ask for items with or without one.
    pub any: Option<Arc<HashSet<Uuid>>>,
}

/// Data that a selection needs beside the rows; [`Needs::of`] tells which parts a call uses.
#[derive(Debug, Clone, Default)]
pub struct Lookups {
    /// Position of each state's group in `translate::work_items::GROUPS`.
    pub group_of_state: HashMap<Uuid, u8>,
    /// Labels that exist. Items keep the ids of deleted labels (v1 does not move `updated_at` then). None leaves
    /// labels as they are.
    pub live_labels: Option<HashSet<Uuid>>,
    /// Items by cycle.
    pub cycles: Memberships,
    /// Items by module.
    pub modules: Memberships,
    /// Type of each item. An item without an entry has no type.
    pub type_of: Arc<HashMap<Uuid, Uuid>>,
}

/// Sets of items that a call needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SetNeeds {
    /// Sets that the call names.
    pub named: Vec<Uuid>,
    /// Whether the call asks for items in any set or in none.
    pub any: bool,
}

/// The parts of [`Lookups`] that a call uses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// Groups of states.
    pub groups: bool,
    /// Live labels for filters. Rows to be shown need live labels too.
    pub labels: bool,
    /// Cycles.
    pub cycles: SetNeeds,
    /// Modules.
    pub modules: SetNeeds,
    /// Types.
    pub types: bool,
}

impl Needs {
    /// Returns the parts that `call` uses; `columns` are the columns of its cells.
    pub fn of(call: &ListCall, columns: &[Column]) -> Self {
        let mut needs = Self { groups: columns[call.order.cell] == Column::StateGroup, ..Self::default() };
        for condition in &call.conditions {
            match columns[condition.cell] {
                Column::StateGroup => needs.groups = true,
                Column::LabelId => needs.labels = true,
                Column::TypeId => needs.types = true,
                Column::CycleId => needs.cycles.add(&condition.test),
                Column::ModuleId => needs.modules.add(&condition.test),
                // These columns are in the row.
                Column::Id | Column::SequenceId | Column::Priority | Column::StateId | Column::AssigneeId => {}
                Column::ParentId | Column::IsDraft | Column::ExternalId | Column::ExternalSource => {}
                Column::CreatedAt | Column::UpdatedAt | Column::StartDate | Column::TargetDate => {}
                Column::SortOrder | Column::Name => {}
            }
        }
        needs
    }
}

impl SetNeeds {
    /// Most named sets that are read without first asking v1 which of them exist. A list of many ids that do not exist
    /// must not cost a call for each.
    pub const FEW: usize = 10;

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

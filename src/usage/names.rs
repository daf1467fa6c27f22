//! The operations by number, so that counting one copies no text.
//!
//! Numbers stay as long as the process: the name of an operation decides, so that it has the same number in each plan
//! that has it, and counts that wait to be written keep their names when the plan is exchanged. May use: `plan`.

use crate::plan::{Plan, V1Found};
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;

/// Most paths of v1 that are not known and have a name of their own.
const MOST_UNKNOWN: usize = 500;
/// Before the name of a call of v1 that is no operation.
pub(super) const UNKNOWN: &str = "v1 unknown";
/// The name under which calls below `/api/v2/` are counted that are no operation.
const UNKNOWN_V2: &str = "unknown";

/// All names that were ever counted.
#[derive(Debug, Default)]
pub(super) struct Names(RwLock<All>);

#[derive(Debug, Default)]
struct All {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    /// How many of them are paths that are not known.
    unknown: usize,
}

impl All {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }
}

impl Names {
    pub(super) fn name(&self, of: u32) -> String {
        self.0.read().names.get(of as usize).map_or_else(|| UNKNOWN.into(), String::clone)
    }

    /// The number of a path of v1 that is not known; none when there are too many.
    fn unknown(&self, name: &str) -> Option<u32> {
        if let Some(&known) = self.0.read().numbers.get(name) {
            return Some(known);
        }
        let mut all = self.0.write();
        if !all.numbers.contains_key(name) {
            if all.unknown >= MOST_UNKNOWN {
                return None;
            }
            all.unknown += 1;
        }
        Some(all.number(name))
    }
}

/// The operations of one plan and their numbers.
#[derive(Debug)]
pub(super) struct Operations {
    plan: Arc<Plan>,
    /// By their places in the plan.
    v1: Vec<u32>,
    v2: Vec<u32>,
    unknown_v1: u32,
    unknown_v2: u32,
}

impl Operations {
    pub(super) fn new(plan: Arc<Plan>, names: &Names) -> Self {
        let mut all = names.0.write();
        let v1 = plan.v1.all().iter().map(|row| all.number(&row.id)).collect();
        let v2 = plan.operations.iter().map(|operation| all.number(&operation.id)).collect();
        let (unknown_v1, unknown_v2) = (all.number(UNKNOWN), all.number(UNKNOWN_V2));
        drop(all);
        Self { plan, v1, v2, unknown_v1, unknown_v2 }
    }

    /// Whether they are those of this plan.
    pub(super) fn are_of(&self, plan: &Arc<Plan>) -> bool {
        Arc::ptr_eq(&self.plan, plan)
    }

    pub(super) fn of_v1(&self, names: &Names, method: &str, path: &str) -> u32 {
        if let V1Found::Operation { operation, .. } = self.plan.v1.find(method, path) {
            return self.v1[operation];
        }
        let name = format!("{UNKNOWN} {}", self.plan.v1.guess(method, path));
        names.unknown(&name).unwrap_or(self.unknown_v1)
    }

    /// An operation of v2, by its place in the plan; none for what is no operation.
    pub(super) fn of_v2(&self, operation: Option<u16>) -> u32 {
        operation.and_then(|place| self.v2.get(usize::from(place)).copied()).unwrap_or(self.unknown_v2)
    }
}

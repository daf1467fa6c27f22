//! The operations by number, so that counting a call copies no text.
//!
//! Numbers stay valid as long as the process runs. The name of an operation decides: it has the same number in each
//! plan, and counts that wait to be written keep their names when the plan is exchanged. May use: `plan`.

use crate::plan::{Plan, V1RouteMatch};
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;

/// Most unknown paths of v1 that have their own name.
const MOST_UNKNOWN: usize = 500;
/// Prefix of the name of a v1 call that is no operation.
pub(super) const UNKNOWN: &str = "v1 unknown";
/// The name for calls below `/api/v2/` that are no operation.
const UNKNOWN_V2: &str = "unknown";

/// All names that were ever counted.
#[derive(Debug, Default)]
pub(super) struct Names(RwLock<NameTable>);

#[derive(Debug, Default)]
struct NameTable {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    /// Number of names that are unknown paths.
    unknown: usize,
}

impl NameTable {
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

    /// Returns the number of an unknown path of v1; none when there are too many.
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
    /// Numbers by index in the plan.
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

    pub(super) fn of_v1(&self, names: &Names, method: &str, path: &str) -> u32 {
        if let V1RouteMatch::Operation { operation, .. } = self.plan.v1.find(method, path) {
            return self.v1[operation];
        }
        let name = format!("{UNKNOWN} {}", self.plan.v1.guess(method, path));
        names.unknown(&name).unwrap_or(self.unknown_v1)
    }

    /// Returns the number of a v2 operation, given its index in the plan; `None`: the call is no operation.
    pub(super) fn of_v2(&self, operation: Option<u16>) -> u32 {
        operation.and_then(|place| self.v2.get(usize::from(place)).copied()).unwrap_or(self.unknown_v2)
    }
}

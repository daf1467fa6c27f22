//! The operations by number, so that counting one copies no text.
//!
//! May use: `plan`.

use crate::plan::{Plan, V1Found};
use parking_lot::RwLock;
use std::collections::HashMap;

/// Most paths of v1 that are not known and have a name of their own.
const MOST_UNKNOWN: usize = 500;
/// Before the name of a call of v1 that is no operation.
pub(super) const UNKNOWN: &str = "v1 unknown";
/// What calls below `/api/v2/` are counted as that are no operation.
const UNKNOWN_V2: &str = "unknown";

/// All operations.
#[derive(Debug)]
pub(super) struct Names {
    /// Operations of v1 first, then those of v2, then what is unknown in each.
    fixed: Vec<String>,
    v2: HashMap<String, u32>,
    unknown: RwLock<HashMap<String, u32>>,
}

impl Names {
    pub(super) fn new(plan: &Plan) -> Self {
        let mut fixed: Vec<String> = plan.v1.all().iter().map(|row| row.id.clone()).collect();
        let mut v2 = HashMap::new();
        for operation in &plan.operations {
            v2.insert(operation.id.clone(), number(fixed.len()));
            fixed.push(operation.id.clone());
        }
        fixed.extend([UNKNOWN_V2.to_owned(), UNKNOWN.to_owned()]);
        Self { fixed, v2, unknown: RwLock::default() }
    }

    /// A call of v1.
    pub(super) fn of_v1(&self, plan: &Plan, method: &str, path: &str) -> u32 {
        if let V1Found::Operation { operation, .. } = plan.v1.find(method, path) {
            return number(operation);
        }
        let name = format!("{UNKNOWN} {}", plan.v1.guess(method, path));
        if let Some(&known) = self.unknown.read().get(&name) {
            return known;
        }
        let mut unknown = self.unknown.write();
        if unknown.len() >= MOST_UNKNOWN && !unknown.contains_key(&name) {
            return number(self.fixed.len() - 1);
        }
        let next = number(self.fixed.len() + unknown.len());
        *unknown.entry(name).or_insert(next)
    }

    /// An operation of v2, by its id.
    pub(super) fn of_v2(&self, id: &str) -> u32 {
        self.v2.get(id).copied().unwrap_or_else(|| number(self.fixed.len() - 2))
    }

    /// The name of a number.
    pub(super) fn name(&self, of: u32) -> String {
        if let Some(name) = self.fixed.get(of as usize) {
            return name.clone();
        }
        let unknown = self.unknown.read();
        unknown.iter().find(|(_, number)| **number == of).map_or_else(|| UNKNOWN.into(), |(name, _)| name.clone())
    }
}

fn number(of: usize) -> u32 {
    u32::try_from(of).unwrap_or(u32::MAX)
}

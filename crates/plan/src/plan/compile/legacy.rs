//! Stage 5: the public operations of v1, from the steps of the v2 operations and from additional declarations.
//!
//! The step of a v2 operation decides which v1 operation it stands for: a list stands for v1's list, a create for v1's
//! POST, and so on. A function stands for the first of its calls with the method of the operation. Without such a call
//! it stands for the first call that reads or writes as the operation does. May use: `mapping`, this folder.

mod declared;
mod rows;

use crate::mapping::{Faults, Trail, V1_FILE, V1Table};
use crate::plan::legacy::V1Operations;
use crate::plan::{Operation, Resource};
use declared::{declared, fills};
use rows::derived;

pub(super) fn build(
    table: &V1Table,
    resources: &[Resource],
    operations: &[Operation],
    faults: &mut Faults,
) -> V1Operations {
    let mut rows = derived(resources, operations);
    for row in &table.operations {
        let trail = Trail::file(V1_FILE).then(if row.call.is_empty() { "an operation" } else { &row.call });
        if let Err(message) = declared(row, operations, &mut rows) {
            faults.add(&trail, message);
        }
    }
    for row in &rows {
        let trail = Trail::file(V1_FILE).then(format!("{} {}", row.method, row.path));
        if rows.iter().filter(|other| other.id == row.id).count() > 1 {
            faults.add(&trail, format!("another operation of v1 is called {} too", row.id));
        }
        fills(row, operations).into_iter().for_each(|message| faults.add(&trail, message));
    }
    for name in table.records.keys().chain(table.inputs.keys()).chain(table.lost.keys()) {
        if !resources.iter().any(|resource| resource.name == *name) {
            faults.add(&Trail::file(V1_FILE).then(name.as_str()), "is no resource");
        }
    }
    V1Operations::new(rows, table)
}

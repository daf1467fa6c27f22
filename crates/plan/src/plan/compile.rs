//! The compiler: its ordered stages turn the mapping files into the plan.
//!
//! 1. `resources`: fields, paths at v1, refusals
//! 2. `operations`: one operation each, with `params` (query) and `bodies`
//! 3. `shapes`: read shapes, from fields and from `shapes/`
//! 4. `paths`, `lists` with `filters`, `fields`, `writes` with `members` and `refusals`, `turns`, `declared`, `costs`,
//!    `whole`: the rules, each checked over the whole plan; and `columns`, the columns of the index
//! 5. `legacy`: the operations of v1, and the v2 operations that replace them
//!
//! No stage stops at a fault. A rule about a single part is silent when that part was already reported
//! as unreadable. The result is a plan without any fault, or every fault of every file. May use: `mapping`, this
//! folder.

mod bodies;
mod columns;
mod costs;
mod declared;
mod draft;
mod fields;
mod filters;
mod kinds;
mod legacy;
mod lists;
mod members;
mod operations;
mod params;
mod paths;
mod planned;
mod refusals;
mod resources;
mod rules;
mod shapes;
mod turns;
mod whole;
mod writes;

use super::service::Plan;
use crate::mapping::{Faults, Files, Special};
use draft::Draft;

/// Compiles the mappings. Each special step in `named` must be the step of an operation.
///
/// # Errors
/// Returns every fault of every file, including the faults found while reading the files.
pub fn compile(files: &Files, named: impl IntoIterator<Item = Special>) -> Result<Plan, Faults> {
    let mut faults = files.faults.clone();
    let mut draft = Draft { files, resources: Vec::new(), operations: Vec::new(), origins: Vec::new() };
    resources::build(&mut draft, &mut faults);
    operations::build(&mut draft, &mut faults);
    resources::choose_cells(&mut draft);
    columns::choose(&mut draft, &mut faults);
    let shapes = shapes::build(&draft, &mut faults);
    for rule in RULES {
        rule(&draft, &mut faults);
    }
    whole::functions_are_used(&draft, named, &mut faults);
    if !faults.is_empty() {
        return Err(faults);
    }
    // This stage comes last, because it needs a plan without faults.
    let (resources, operations) = (draft.resources, draft.operations);
    let v1 = legacy::build(&files.v1, &resources, &operations, &mut faults);
    if faults.is_empty() { Ok(Plan { resources, operations, shapes, v1 }) } else { Err(faults) }
}

type Rule = fn(&Draft, &mut Faults);

/// The rules in the order their faults are reported.
const RULES: [Rule; 8] = [
    whole::check,
    paths::check,
    lists::check,
    writes::check,
    turns::check,
    declared::check,
    fields::check,
    costs::check,
];

//! Columns of the lists of work items, which come from the index: finds the column of each cell, and checks whether the
//! index supports the list. May use: `mapping`, this folder.

use super::draft::{Case, Draft};
use crate::mapping::{Faults, Order, Special, Step};
use crate::plan::Column;

/// Finds the column of each cell of work items.
pub(super) fn choose(draft: &mut Draft, faults: &mut Faults) {
    let from_the_index = |case: &Case| case.operation.step == Step::Special(Special::WorkItemsList);
    let lists: Vec<usize> = draft.cases().filter(from_the_index).map(|case| case.operation.resource).collect();
    let files = draft.files;
    for index in lists {
        let (resource, file, mut columns) = (&mut draft.resources[index], &files.resources[index], Vec::new());
        let cells = resource.cells.iter().map(|&field| &resource.fields[field]);
        for field in cells.filter(|field| file.fields[&field.name].sound) {
            let trail = file.trail_of(&field.name);
            match field.name.parse::<Column>() {
                Ok(column) if column.value() == field.value => columns.push(column),
                Ok(_) => faults.add(&trail, "the column of the index holds values of another kind"),
                Err(_) => faults.add(&trail, "a list looks at it, but the index has no such column"),
            }
        }
        resource.columns = columns.into();
    }
    for case in draft.cases().filter(from_the_index) {
        columns_fit(case, faults);
    }
}

/// Checks that the index can order by, resume from and search in the fields that the list names.
fn columns_fit(case: Case, faults: &mut Faults) {
    let can = |field: &String, able: fn(Column) -> bool| field.parse().is_ok_and(able);
    if let Some(Order { allowed, cursor, .. }) = &case.operation.order {
        let trail = case.trail().then("order");
        for field in allowed.iter().filter(|field| !can(field, Column::is_ordered)) {
            faults.add(&trail.then("allowed"), format!("the index cannot order by `{field}`"));
        }
        for field in cursor.iter().filter(|field| !can(field, Column::is_resumed)) {
            faults.add(&trail.then("cursor"), format!("the index cannot resume from `{field}`"));
        }
    }
    for field in case.operation.search.iter().filter(|field| !can(field, |column| column == Column::Name)) {
        faults.add(&case.trail().then("search"), format!("the index cannot search in `{field}`"));
    }
}

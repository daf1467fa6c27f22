//! Rules over the set as a whole: names are unique, and no declaration is unused. May use: `mapping`, this folder.

use super::draft::Draft;
use crate::mapping::{Faults, Special, Step, Surface, Trail};
use std::collections::HashMap;

pub(super) fn check(draft: &Draft, faults: &mut Faults) {
    resources_are_named_like_their_files(draft, faults);
    ids_are_unique(draft, faults);
    inputs_are_taken(draft, faults);
    variables_are_used(draft, faults);
    guests_have_something_to_write(draft, faults);
}

fn resources_are_named_like_their_files(draft: &Draft, faults: &mut Faults) {
    for (_, resource, file) in draft.resources_with_files().filter(|(_, _, file)| file.head.sound) {
        let trail = file.trail().then("resource");
        if file.file != file.right_name() {
            faults.add(
                &trail,
                format!("the file declares `{}`, so its name must be {}", resource.name, file.right_name()),
            );
        }
        if file.operations.is_empty() {
            faults.add(&trail, "declares no operation");
        }
    }
}

fn ids_are_unique(draft: &Draft, faults: &mut Faults) {
    let mut first: HashMap<&str, &str> = HashMap::new();
    for case in draft.cases() {
        if let Some(file) = first.insert(&case.operation.id, &case.file.file) {
            faults.add(&case.trail().then("id"), format!("an operation of {file} has this id already"));
        }
    }
}

fn inputs_are_taken(draft: &Draft, faults: &mut Faults) {
    for file in &draft.files.resources {
        for name in file.inputs.keys() {
            let taken = |body: &Option<_>| {
                body.as_ref().is_some_and(|body: &indexmap::IndexMap<_, _>| body.contains_key(name))
            };
            if !file.operations.iter().any(|operation| taken(&operation.body)) {
                faults.add(&file.trail().then("inputs").then(name), "no operation takes this member");
            }
        }
    }
}

fn variables_are_used(draft: &Draft, faults: &mut Faults) {
    for file in &draft.files.resources {
        for name in &file.head.value.variables {
            let braced = format!("{{{name}}}");
            if !file.operations.iter().any(|operation| operation.head.value.path.contains(&braced)) {
                faults.add(&file.trail().then("variables"), format!("no path has a variable {braced}"));
            }
        }
    }
}

fn guests_have_something_to_write(draft: &Draft, faults: &mut Faults) {
    let guests = draft.resources_with_files().filter(|(_, _, file)| file.head.value.guests_may_write);
    for (index, _, file) in guests.filter(|(index, ..)| draft.is_read(*index)) {
        let mut cases = draft.cases_of(index).map(|case| case.operation);
        if !cases.any(|operation| operation.method.writes() && operation.surface == Surface::Project) {
            let trail = file.trail().then("guests_may_write");
            faults.add(&trail, "no operation writes inside a project, the only place with guests");
        }
    }
}

/// Checks that every function in `named` is the step of an operation.
pub(super) fn functions_are_used(draft: &Draft, named: impl IntoIterator<Item = Special>, faults: &mut Faults) {
    for special in named {
        if !draft.operations.iter().any(|operation| operation.step == Step::Special(special)) {
            faults.add(&Trail::file("(program)").then(special.name()), "no operation names this special step");
        }
    }
}

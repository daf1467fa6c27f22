//! Rules of steps: they fit the method, v1 has the paths they need, and their calls are declared. May use: `mapping`,
//! this folder.

use super::draft::{Case, Draft};
use crate::mapping::{Answer, Faults, Method, Source, Step, Surface};
use crate::plan::{Made, Operation};

pub(super) fn check(draft: &Draft, faults: &mut Faults) {
    for case in draft.cases() {
        calls_are_declared(case, faults);
        place_fits(case, faults);
        if let Some(needs) = Needs::of(case.operation.step) {
            step_fits(case, &needs, faults);
            match case.resource.source {
                Source::V1 => v1_fits(case, &needs, faults),
                Source::Own => own_fits(case, faults),
            }
        }
    }
}

fn calls_are_declared(case: Case, faults: &mut Faults) {
    let (operation, head) = (case.operation, &case.spec.head.value);
    let trail = case.trail().then("v1");
    match operation.step {
        Step::Special(_) if head.v1.is_none() => {
            faults.add(&case.trail(), "lacks `v1`: the calls of its function, `[]` when it makes none");
        }
        Step::Pending if head.v1.is_some() => faults.add(&trail, "a pending operation makes no calls yet"),
        _ => {}
    }
    for call in &operation.v1 {
        let other = |name: &str| name == "other" && matches!(call.made, Made::ForEach(_));
        for name in call.path.variables().filter(|name| !other(name) && !is_known(operation, name)) {
            let message =
                format!("{{{name}}} of `{} {}` is not in the path of the operation", call.method, call.path);
            faults.add(&trail, message);
        }
    }
}

/// Checks that a step for projects has a project in its path, and that a plain step, whose answer is cached for many
/// users, is not on the surface `user`.
fn place_fits(case: Case, faults: &mut Faults) {
    let trail = case.trail().then("step");
    match case.operation.step {
        Step::Special(special) if special.is_of_projects() && case.operation.surface != Surface::Project => {
            faults.add(&trail, "works inside a project only, and the surface is another");
        }
        Step::Special(_) | Step::Pending => {}
        _ if case.operation.surface == Surface::User => {
            faults.add(&trail, "records are kept for projects and workspaces, not for the surface `user`");
        }
        _ => {}
    }
}

/// Checks whether a call of v1 can fill a variable: from the path, or from a value that the operation makes or finds.
fn is_known(operation: &Operation, name: &str) -> bool {
    let created = name == "pk" && operation.method == Method::Post;
    // A look-up finds the project, or the body names it.
    let found = name == "project_id" && operation.surface == Surface::Workspace;
    created || found || operation.path.variables().any(|known| known == name)
}

/// The requirements of a plain step.
struct Needs {
    method: Method,
    answer: Answer,
    collection: bool,
    record: bool,
    pk: bool,
}

impl Needs {
    fn of(step: Step) -> Option<Self> {
        let (method, answer, collection, record, pk) = match step {
            Step::ReadCollection => (Method::Get, Answer::Page, true, false, false),
            Step::ReadOne => (Method::Get, Answer::Record, true, false, true),
            Step::Create => (Method::Post, Answer::Record, true, true, false),
            Step::Update => (Method::Patch, Answer::Record, true, true, true),
            Step::Delete => (Method::Delete, Answer::Empty, false, true, true),
            Step::Special(_) | Step::Pending => return None,
        };
        Some(Self { method, answer, collection, record, pk })
    }
}

fn step_fits(case: Case, needs: &Needs, faults: &mut Faults) {
    let trail = case.trail().then("step");
    let operation = case.operation;
    if (operation.method, operation.answer) != (needs.method, needs.answer) {
        faults.add(&trail, format!("`{}` fits neither this method nor this answer", operation.step.word()));
    }
}

/// Checks that v1 has the paths that the step needs.
fn v1_fits(case: Case, needs: &Needs, faults: &mut Faults) {
    let (trail, operation) = (case.trail().then("step"), case.operation);
    let word = operation.step.word();
    if needs.pk != operation.path.variables().any(|name| name == "pk") {
        let does = if needs.pk { "needs" } else { "has no use for" };
        faults.add(&trail, format!("`{word}` {does} {{pk}} in the path"));
    }
    // Looks at the declaration as written: a path that cannot be parsed was already reported.
    let v1 = case.file.v1.as_ref().map(|v1| &v1.value);
    if needs.collection && v1.is_none_or(|v1| v1.collection.is_none()) {
        faults.add(&trail, format!("`{word}` needs `v1.collection`"));
    }
    if needs.record && v1.is_none_or(|v1| v1.record.is_none()) {
        faults.add(&trail, format!("`{word}` needs `v1.record`"));
    }
}

/// Checks that the records of the own store are declared, and that the store has this step for them.
fn own_fits(case: Case, faults: &mut Faults) {
    let (trail, word) = (case.trail().then("step"), case.operation.step.word());
    match case.resource.records {
        None => faults.add(&trail, format!("`{word}` needs `records`: which ones of the own store")),
        Some(records) if !records.has(case.operation.step) => {
            faults.add(&trail, format!("these records of the own store have no `{word}`"));
        }
        Some(_) => {}
    }
}

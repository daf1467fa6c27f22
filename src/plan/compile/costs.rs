//! Rules of steps: they fit the method, v1 has the paths they need, and what they cost is declared.

use super::{Case, Draft};
use crate::mapping::Faults;
use crate::plan::{Answer, Method, Step};

pub(super) fn check(draft: &Draft, faults: &mut Faults) {
    for case in draft.cases() {
        costs_are_declared(case, faults);
        if let Some(needs) = Needs::of(&case.operation.step) {
            step_fits(case, &needs, faults);
        }
    }
}

fn costs_are_declared(case: Case, faults: &mut Faults) {
    match (&case.operation.calls, case.operation.works()) {
        (None, true) => faults.add(&case.trail(), "lacks `calls`: what it costs at v1 must be declared"),
        (Some(_), false) => faults.add(&case.trail().then("calls"), "a pending operation costs nothing yet"),
        (Some(calls), true) if calls.warm > calls.cold => {
            faults.add(&case.trail().then("calls"), "warm must not cost more than cold");
        }
        _ => {}
    }
}

/// What a step of the language needs.
struct Needs {
    word: &'static str,
    method: Method,
    answer: Answer,
    collection: bool,
    record: bool,
    pk: bool,
}

impl Needs {
    fn of(step: &Step) -> Option<Self> {
        let (word, method, answer, collection, record, pk) = match step {
            Step::ReadCollection => ("read_collection", Method::Get, Answer::Page, true, false, false),
            Step::ReadOne => ("read_one", Method::Get, Answer::Record, true, false, true),
            Step::Create => ("create", Method::Post, Answer::Record, true, true, false),
            Step::Update => ("update", Method::Patch, Answer::Record, true, true, true),
            Step::Delete => ("delete", Method::Delete, Answer::Empty, false, true, true),
            Step::Special(_) | Step::Pending => return None,
        };
        Some(Self { word, method, answer, collection, record, pk })
    }
}

fn step_fits(case: Case, needs: &Needs, faults: &mut Faults) {
    let trail = case.trail().then("step");
    let operation = case.operation;
    if (operation.method, operation.answer) != (needs.method, needs.answer) {
        faults.add(&trail, format!("`{}` fits neither this method nor this answer", needs.word));
    }
    if needs.pk != operation.path.variables().any(|name| name == "pk") {
        let does = if needs.pk { "needs" } else { "has no use for" };
        faults.add(&trail, format!("`{}` {does} {{pk}} in the path", needs.word));
    }
    // As written: a path that cannot be read was reported as such.
    let v1 = case.file.v1.as_ref().map(|v1| &v1.value);
    if needs.collection && v1.is_none_or(|v1| v1.collection.is_none()) {
        faults.add(&trail, format!("`{}` needs `v1.collection`", needs.word));
    }
    if needs.record && v1.is_none_or(|v1| v1.record.is_none()) {
        faults.add(&trail, format!("`{}` needs `v1.record`", needs.word));
    }
}

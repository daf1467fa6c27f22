//! Rules of methods, scopes, modes and statuses and, in files of their own, of bodies and errors. May use: `mapping`,
//! this folder.

use super::draft::{Case, Draft};
use super::members::{body_fits, members_fit};
use super::refusals::{errors_are_known, refusals_fit};
use crate::mapping::{Answer, COMMON, Faults, Method, Trail, TypeMode};
use crate::plan::scopes;

pub(super) fn check(draft: &Draft, faults: &mut Faults) {
    for case in draft.cases() {
        scopes_fit(case, faults);
        mode_fits(draft, case, faults);
        status_fits(case, faults);
        body_fits(case, faults);
        members_fit(draft, case, faults);
        errors_are_known(case, faults);
    }
    for (index, _, file) in draft.resources_with_files() {
        refusals_fit(draft, index, file, faults);
    }
    modes_have_errors(draft, faults);
}

fn scopes_fit(case: Case, faults: &mut Faults) {
    let trail = case.trail().then("scopes");
    if case.operation.scopes.is_empty() {
        faults.add(&trail, "without a scope no token could ever call it");
    }
    let verb = if case.operation.method.writes() { "write" } else { "read" };
    for scope in &case.operation.scopes {
        if !scopes::is_gating(scope) {
            faults.add(&trail, format!("`{scope}` is not in the list of scopes"));
        } else if scope.rsplit(':').next() != Some(verb) {
            faults.add(
                &trail,
                format!("`{scope}` does not fit {}, which needs a {verb} scope", case.operation.method),
            );
        }
    }
}

fn mode_fits(draft: &Draft, case: Case, faults: &mut Faults) {
    if case.operation.mode.is_some() && !case.operation.method.writes() {
        faults.add(&case.trail().then("mode"), "reads work in every mode");
    }
    // When no errors of modes are declared at all, the operation is not at fault.
    if let Some(code) = lacking(case).filter(|_| !draft.files.common.modes.is_empty()) {
        faults.add(&case.trail().then("errors"), format!("the mode needs the error `{code}`"));
    }
}

/// Returns the error code of the operation's mode, if the operation has no such error.
fn lacking(case: Case) -> Option<&'static str> {
    let code = match case.operation.mode? {
        TypeMode::Project => "work_item_types_managed_at_workspace",
        TypeMode::Workspace => "work_item_types_managed_at_project",
    };
    (!case.operation.errors.iter().any(|error| error.code == code)).then_some(code)
}

fn modes_have_errors(draft: &Draft, faults: &mut Faults) {
    let common = &draft.files.common;
    if common.is_read && common.modes.is_empty() && draft.cases().any(|case| lacking(case).is_some()) {
        let trail = Trail::file(COMMON).then("errors").then("mode");
        faults.add(&trail, "declares no error, and there are operations that need a mode");
    }
}

fn status_fits(case: Case, faults: &mut Faults) {
    let operation = case.operation;
    let fits = match operation.answer {
        Answer::Page => operation.status == 200,
        Answer::Record => [200, 201].contains(&operation.status),
        Answer::Empty => operation.status == 204 || operation.status == 200 && operation.method == Method::Post,
    };
    if !fits {
        faults.add(&case.trail().then("status"), format!("{} does not fit the answer", operation.status));
    }
    if operation.response.is_none() != (operation.answer == Answer::Empty) {
        faults.add(&case.trail().then("response"), "names the shape of a page or record, and only of those");
    }
}

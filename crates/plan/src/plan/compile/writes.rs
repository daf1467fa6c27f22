//! Rules of methods, scopes, modes, statuses, bodies and errors. May use: `mapping`, this folder.

use super::draft::{Case, Draft};
use crate::mapping::{Answer, Faults, Method, ResourceFile, Trail, TypeMode, WriteKind};
use crate::plan::{BodyRule, Input, codes, scopes};

pub(super) fn check(draft: &Draft, faults: &mut Faults) {
    for case in draft.cases() {
        scopes_fit(case, faults);
        mode_fits(case, faults);
        status_fits(case, faults);
        body_fits(case, faults);
        members_fit(draft, case, faults);
        errors_are_known(case, faults);
    }
    for (index, _, file) in draft.resources_with_files() {
        refusals_fit(draft, index, file, faults);
    }
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

fn mode_fits(case: Case, faults: &mut Faults) {
    let Some(mode) = case.operation.mode else { return };
    if !case.operation.method.writes() {
        faults.add(&case.trail().then("mode"), "reads work in every mode");
    }
    let code = match mode {
        TypeMode::Project => "work_item_types_managed_at_workspace",
        TypeMode::Workspace => "work_item_types_managed_at_project",
    };
    if !case.operation.errors.iter().any(|error| error.code == code) {
        faults.add(&case.trail().then("errors"), format!("the mode needs the error `{code}`"));
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

fn body_fits(case: Case, faults: &mut Faults) {
    let has_body = matches!(case.operation.method, Method::Post | Method::Patch);
    let ignored = case.spec.head.value.body_ignored;
    match (&case.operation.body, has_body) {
        (BodyRule::None, true) => {
            faults.add(&case.trail(), "declares neither [operations.body] nor `body_ignored`");
        }
        (BodyRule::Members(_) | BodyRule::Ignored, false) => {
            faults.add(&case.trail().then("body"), format!("{} takes no body", case.operation.method));
        }
        (BodyRule::Members(_), true) if ignored => {
            faults.add(&case.trail().then("body_ignored"), "members are declared, so the body is not ignored");
        }
        _ => {}
    }
}

fn members_fit(draft: &Draft, case: Case, faults: &mut Faults) {
    let BodyRule::Members(inputs) = &case.operation.body else { return };
    for input in inputs {
        let trail = case.trail().then("body").then(input.name.as_str());
        member_fits(input, &trail, faults);
        reference_fits(draft, case, input, &trail, faults);
    }
}

fn member_fits(input: &Input, trail: &Trail, faults: &mut Faults) {
    let Some(default) = &input.default else { return };
    if input.required {
        faults.add(&trail.then("default"), "a required member needs no default");
    }
    let outside = |text: &str| !input.allowed.is_empty() && !input.allowed.iter().any(|value| value == text);
    if let Some(text) = default.as_str().filter(|text| outside(text)) {
        faults.add(&trail.then("default"), format!("`{text}` is not among the values it takes"));
    }
}

fn reference_fits(draft: &Draft, case: Case, input: &Input, trail: &Trail, faults: &mut Faults) {
    let own = Some(case.resource.name.as_str());
    if input.acyclic && input.references.as_deref() != own {
        faults.add(&trail.then("acyclic"), "only a reference to the same resource can lead back");
    }
    let Some(name) = &input.references else { return };
    if !draft.resources.iter().any(|resource| resource.name == *name) {
        faults.add(&trail.then("references"), format!("there is no resource `{name}`"));
    }
}

fn errors_are_known(case: Case, faults: &mut Faults) {
    for error in &case.operation.errors {
        if !codes::TABLE.contains(&(error.status, error.code.as_str())) {
            let message = match codes::status_of(&error.code) {
                Some(status) => format!("`{}` comes with {status}, not {}", error.code, error.status),
                None => format!("`{}` is not in the table of codes", error.code),
            };
            faults.add(&case.trail().then("errors"), message);
        }
    }
}

fn refusals_fit(draft: &Draft, resource: usize, file: &ResourceFile, faults: &mut Faults) {
    let Some(v1) = &draft.resources[resource].v1 else { return };
    let whole = file.head.sound && file.refusals.iter().all(|refusal| refusal.sound);
    for (index, refusal) in v1.refusals.iter().enumerate().filter(|_| whole) {
        let trail = file.trail().then("v1").then(format!("refusals.{}", index + 1));
        let (method, word) = match refusal.on {
            WriteKind::Create => (Method::Post, "create"),
            WriteKind::Update => (Method::Patch, "update"),
            WriteKind::Delete => (Method::Delete, "delete"),
        };
        if !draft.cases_of(resource).any(|case| case.operation.method == method) {
            faults.add(&trail.then("on"), format!("the resource has no {word}"));
        }
        if !(400..=499).contains(&refusal.status) {
            faults.add(&trail.then("status"), format!("{} is no refusal", refusal.status));
        }
        if codes::status_of(&refusal.code).is_none() {
            faults.add(&trail.then("code"), format!("`{}` is not in the table of codes", refusal.code));
        }
    }
}

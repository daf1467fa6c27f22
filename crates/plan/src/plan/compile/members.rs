//! Rules of bodies and their members. May use: `mapping`, this folder.

use super::draft::{Case, Draft};
use super::filters::default_is_allowed;
use crate::mapping::{Faults, Method, Trail};
use crate::plan::{BodyRule, Input};

pub(super) fn body_fits(case: Case, faults: &mut Faults) {
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

pub(super) fn members_fit(draft: &Draft, case: Case, faults: &mut Faults) {
    let BodyRule::Members(inputs) = &case.operation.body else { return };
    for input in inputs {
        let trail = case.trail().then("body").then(input.name.as_str());
        member_fits(input, &trail, faults);
        reference_fits(draft, case, input, &trail, faults);
    }
}

fn member_fits(input: &Input, trail: &Trail, faults: &mut Faults) {
    if input.spec.required && input.spec.default.is_some() {
        faults.add(&trail.then("default"), "a required member needs no default");
    }
    default_is_allowed(input.spec.default.as_ref(), &input.spec.allowed, trail, faults);
}

fn reference_fits(draft: &Draft, case: Case, input: &Input, trail: &Trail, faults: &mut Faults) {
    let own = Some(case.resource.name.as_str());
    if input.spec.acyclic && input.spec.references.as_deref() != own {
        faults.add(&trail.then("acyclic"), "only a reference to the same resource can lead back");
    }
    let Some(name) = &input.spec.references else { return };
    if !draft.resources.iter().any(|resource| resource.name == *name) {
        faults.add(&trail.then("references"), format!("there is no resource `{name}`"));
    }
}

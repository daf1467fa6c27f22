//! Checks of the rules that files declare.
//!
//! The own store has its own rules, so declared rules are refused there. A rule that the step of an operation does not
//! enforce ([`Rule::is_held_by`]) is refused too, because it would have no effect. May use: `mapping`, this folder.

use super::draft::{Case, Draft};
use crate::mapping::{Faults, OnCreate, ReadOneBy, Source, Step, Surface, Trail};
use crate::plan::{BodyRule, CollectionRule, Field, Kind, Required, Rule, ValueType};

pub(super) fn check(draft: &Draft, faults: &mut Faults) {
    for (index, resource, file) in draft.resources_with_files().filter(|(_, _, file)| file.head.sound) {
        let trail = file.trail();
        if let Some(rule) = &resource.unique {
            field_fits(&resource.fields[rule.field], Kind::String, &trail.then("unique"), faults);
        }
        if let Some(rule) = &resource.exclusive {
            field_fits(&resource.fields[rule.field], Kind::Boolean, &trail.then("exclusive"), faults);
        }
        if let Some((_, id)) = resource.requires.map(Required::place) {
            let lacks = |case: &Case| !case.operation.path.variables().any(|name| name == id);
            for case in draft.cases_of(index).filter(lacks) {
                faults.add(&case.trail().then("path"), format!("lacks {{{id}}}, which the resource requires"));
            }
        }
        let v1 = resource.v1.as_ref();
        let has = |step| draft.cases_of(index).any(|case| case.operation.step == step);
        if v1.is_some_and(|v1| v1.also_in.is_some()) && !has(Step::ReadOne) {
            faults.add(&trail.then("v1").then("also_in"), "no operation has the step `read_one`");
        }
        if v1.is_some_and(|v1| v1.one == ReadOneBy::Record && v1.record.is_none()) {
            faults.add(&trail.then("v1").then("one"), "a record can only be read at `v1.record`");
        }
        let firsts = resource.fields.iter().filter(|field| field.spec.on_create == OnCreate::IfFirst);
        for field in firsts.filter(|_| !has(Step::Create)) {
            let trail = file.trail_of(&field.name).then("on_create");
            faults.add(&trail, "no operation has the step `create`");
        }
    }
    for case in draft.cases() {
        rules_are_held(case, faults);
        children_fit(case, faults);
    }
}

/// Checks that the field of the rule holds a value of this kind, and that the value is written to v1.
fn field_fits(field: &Field, kind: Kind, trail: &Trail, faults: &mut Faults) {
    if field.value != ValueType::One(kind) || field.spec.v1.is_none() || field.spec.read_only {
        faults.add(trail, format!("`{}` is no {} that is written to v1", field.name, kind.contract_type()));
    }
}

/// Checks that the step of an operation enforces every rule that applies to the operation.
fn rules_are_held(case: Case, faults: &mut Faults) {
    let (operation, resource) = (case.operation, case.resource);
    let takes = |rule: &Option<CollectionRule>| match (rule, &operation.body) {
        (Some(rule), BodyRule::Members(inputs)) => inputs.iter().any(|input| input.field == Some(rule.field)),
        _ => false,
    };
    let own = [
        (Rule::NeedsFeature, operation.needs_feature.is_some()),
        (Rule::DetachChildren, operation.detach_children.is_some()),
        (Rule::May, operation.may.is_some()),
    ];
    let inherited = [
        (Rule::Unique, takes(&resource.unique)),
        (Rule::Exclusive, takes(&resource.exclusive)),
        (Rule::Requires, resource.requires.is_some()),
    ];
    for (rule, _) in own.into_iter().chain(inherited).filter(|(_, given)| *given) {
        let trail = if own.iter().any(|(known, _)| *known == rule) { case.trail() } else { case.file.trail() };
        let trail = trail.then(<&str>::from(rule));
        let of_projects = matches!(rule, Rule::NeedsFeature | Rule::May | Rule::Requires);
        if resource.source == Source::Own {
            faults.add(&trail, "the own store has rules of its own");
        } else if operation.works() && !rule.is_held_by(operation.step) {
            faults.add(
                &trail,
                format!("`{}`, the step of `{}`, does not hold it", operation.step.word(), operation.id),
            );
        } else if of_projects && operation.surface != Surface::Project {
            faults.add(&trail, format!("only projects have it, and `{}` is not in one", operation.id));
        }
    }
}

/// Checks that the field by which children refer to a record is an id of v1 that may be null.
fn children_fit(case: Case, faults: &mut Faults) {
    let Some(by) = case.operation.detach_children.map(|field| &case.resource.fields[field]) else { return };
    if !by.spec.nullable || by.spec.v1.is_none() || by.value != ValueType::One(Kind::Uuid) {
        let message = format!("`{}` is no id of v1 that may be null", by.name);
        faults.add(&case.trail().then("detach_children"), message);
    }
}

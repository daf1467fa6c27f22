//! Stages 1 and 2, rules that files declare (`unique`, `exclusive`, `requires`, `needs_feature`, `detach_children`, `may`,
//! `also_in`), and what each of them needs.
//!
//! The plain steps behind v1 hold them all. The own store has rules of its own, so there they are refused. A named function
//! is trusted with what its operation declares; a rule that no step could hold is refused.

use super::draft::{Builder, Case, Draft};
use crate::mapping::{Faults, FeatureWord, MaySpec, OneOfAllSpec, RequiresSpec, Trail, WhoWord};
use crate::plan::{
    Feature, Field, Kind, May, Method, OnCreate, OneOfAll, ReadOneBy, Required, Source, Step, Surface, ValueType,
};

const NO_FIELD: &str = "there is no field of this name";

pub(super) fn feature(word: FeatureWord) -> Feature {
    match word {
        FeatureWord::Cycles => Feature::Cycles,
        FeatureWord::Modules => Feature::Modules,
    }
}

/// A rule about all records of a collection.
pub(super) fn of_all(
    spec: Option<&OneOfAllSpec>,
    fields: &[Field],
    trail: &Trail,
    faults: &mut Faults,
) -> Option<OneOfAll> {
    let spec = spec?;
    let field = position(fields, &spec.field, trail, faults)?;
    Some(OneOfAll { field, detail: spec.detail.clone() })
}

fn position(fields: &[Field], name: &str, trail: &Trail, faults: &mut Faults) -> Option<usize> {
    let found = fields.iter().position(|field| field.name == name);
    if found.is_none() {
        faults.add(trail, format!("{NO_FIELD}: `{name}`"));
    }
    found
}

/// The record that must be there; only work items can be.
pub(super) fn required(spec: Option<&RequiresSpec>, trail: &Trail, faults: &mut Faults) -> Option<Required> {
    let spec = spec?;
    let known = [Required::WorkItem]
        .into_iter()
        .find(|known| (known.place().0.name(), known.place().1) == (&spec.live, &spec.id));
    if known.is_none() {
        let (resource, id) = Required::WorkItem.place();
        faults.add(trail, format!("only {{ live = \"{}\", id = \"{id}\" }} can be required", resource.name()));
    }
    known
}

/// The field that a key of an operation names.
pub(super) fn field(builder: &Builder, name: Option<&str>, key: &str, faults: &mut Faults) -> Option<usize> {
    position(builder.fields, name?, &builder.trail.then(key), faults)
}

pub(super) fn may(builder: &Builder, faults: &mut Faults) -> Option<May> {
    let MaySpec { who, author, detail } = builder.spec.head.value.may.as_ref()?;
    let author = position(builder.fields, author, &builder.trail.then("may"), faults)?;
    match who {
        WhoWord::AuthorOrAdmin => Some(May::AuthorOrAdmin { author, detail: detail.clone() }),
    }
}

pub(super) fn check(draft: &Draft, faults: &mut Faults) {
    for (index, resource, file) in draft.resources_with_files().filter(|(_, _, file)| file.head.sound) {
        let trail = file.trail();
        if let Some(rule) = &resource.unique {
            field_fits(&resource.fields[rule.field], Kind::String, &trail.then("unique"), faults);
        }
        if let Some(rule) = &resource.exclusive {
            field_fits(&resource.fields[rule.field], Kind::Boolean, &trail.then("exclusive"), faults);
        }
        let declared = [
            ("unique", resource.unique.is_some()),
            ("exclusive", resource.exclusive.is_some()),
            ("requires", resource.requires.is_some()),
        ];
        for (key, _) in declared.into_iter().filter(|(_, given)| *given && resource.source == Source::Own) {
            faults.add(&trail.then(key), "the own store has rules of its own");
        }
        if let Some(required) = resource.requires {
            let (_, id) = required.place();
            for case in draft.cases_of(index).filter(|case| !case.operation.path.variables().any(|name| name == id))
            {
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
        let firsts = resource.fields.iter().filter(|field| field.on_create == OnCreate::IfFirst);
        for field in firsts.filter(|_| !has(Step::Create)) {
            let trail = trail.then("fields").then(field.name.as_str()).then("on_create");
            faults.add(&trail, "no operation has the step `create`");
        }
    }
    draft.cases().for_each(|case| operation_fits(case, faults));
}

/// What the rule is about is a value of this kind that v1 holds.
fn field_fits(field: &Field, kind: Kind, trail: &Trail, faults: &mut Faults) {
    if field.value != ValueType::One(kind) || field.v1.is_none() || field.read_only {
        faults.add(trail, format!("`{}` is no {} that is written to v1", field.name, kind.contract_type()));
    }
}

fn operation_fits(case: Case, faults: &mut Faults) {
    let operation = case.operation;
    let declared = [
        ("needs_feature", operation.needs_feature.is_some()),
        ("detach_children", operation.detach_children.is_some()),
        ("may", operation.may.is_some()),
    ];
    for (key, _) in declared.into_iter().filter(|(_, given)| *given && case.resource.source == Source::Own) {
        faults.add(&case.trail().then(key), "the own store has rules of its own");
    }
    let special = matches!(operation.step, Step::Special(_));
    if operation.needs_feature.is_some()
        && (operation.surface, operation.method) != (Surface::Project, Method::Post)
    {
        faults.add(&case.trail().then("needs_feature"), "only what is made in a project can need a feature of it");
    }
    if let Some(field) = operation.detach_children {
        let by = &case.resource.fields[field];
        let refers = by.nullable && by.v1.is_some() && by.value == ValueType::One(Kind::Uuid);
        if operation.step != Step::Delete || !refers {
            let message =
                format!("only a `delete` can have it, by a field that names a record or none; `{}`", by.name);
            faults.add(&case.trail().then("detach_children"), message);
        }
    }
    let project = operation.surface == Surface::Project;
    if operation.may.is_some() && !(project && (special || operation.step == Step::Delete)) {
        faults.add(&case.trail().then("may"), "only a `delete` or a function of a project can hold it");
    }
}

//! Rules of fields and body members, for resources with operations that work already. May use: `mapping`, this folder.

use super::draft::{Case, Draft};
use crate::mapping::{Answer, Faults, Keep, OnCreate, ResourceFile, Source, Step};
use crate::plan::{Field, Kind, Resource, ValueType};

pub(super) fn check(draft: &Draft, faults: &mut Faults) {
    for (index, resource, file) in draft.resources_with_files().filter(|(_, _, file)| file.head.sound) {
        source_fits(resource, file, faults);
        for field in resource.fields.iter().filter(|field| file.fields[&field.name].sound) {
            field_is_consistent(file, field, faults);
            if resource.source == Source::Own {
                field_fits_the_store(file, field, faults);
            }
        }
        v1_names_are_written_once(resource, file, faults);
        // Without any input no field is written.
        if draft.works(index) && !file.inputs.is_empty() {
            fields_are_written(resource, file, faults);
        }
        if draft.translates(index) {
            fields_are_read(draft, index, file, faults);
            inputs_have_fields(resource, file, faults);
        }
    }
}

fn source_fits(resource: &Resource, file: &ResourceFile, faults: &mut Faults) {
    let trail = file.trail();
    match resource.source {
        Source::V1 if file.v1.is_none() => faults.add(&trail.then("source"), "is v1, but there is no [v1]"),
        Source::V1 if resource.records.is_some() => {
            faults.add(&trail.then("records"), "the records are behind v1, not in the own store");
        }
        Source::Own if file.v1.is_some() => faults.add(&trail.then("v1"), "the records are in the own store"),
        _ => {}
    }
}

fn field_is_consistent(file: &ResourceFile, field: &Field, faults: &mut Faults) {
    let trail = file.trail_of(&field.name);
    if field.spec.keep != Keep::V1 && field.spec.v1.is_none() {
        faults.add(&trail.then("keep"), "an overlay lies over a v1 field; name it with `v1`");
    }
    if field.spec.nullable && field.spec.null_as.is_some() {
        faults.add(&trail.then("null_as"), "a nullable field reads null");
    }
    let derived = field.spec.read_only && field.spec.keep == Keep::V1 && field.spec.v1.is_some();
    if field.spec.plain_text && !(derived && field.value == ValueType::One(Kind::String)) {
        faults.add(&trail.then("plain_text"), "only a read-only string made from a `v1` field can be plain text");
    }
    if field.spec.read_only && (field.spec.trim || field.spec.not_before.is_some()) {
        faults.add(&trail.then("read_only"), "rules of writing do not fit a field that is never written");
    }
}

fn v1_names_are_written_once(resource: &Resource, file: &ResourceFile, faults: &mut Faults) {
    let mut written: Vec<(&str, &str)> = Vec::new();
    for field in resource.fields.iter().filter(|field| !field.spec.read_only && !field.spec.hidden) {
        let Some(v1) = field.spec.v1.as_deref() else { continue };
        if let Some((_, first)) = written.iter().find(|(known, _)| *known == v1) {
            let trail = file.trail_of(&field.name).then("v1");
            faults.add(&trail, format!("`{first}` is written under this name already"));
        }
        written.push((v1, &field.name));
    }
}

/// Checks that a field of the own store has no keys about v1. Code decides where its value comes from.
fn field_fits_the_store(file: &ResourceFile, field: &Field, faults: &mut Faults) {
    let trail = file.trail_of(&field.name);
    let of_v1 = [
        ("v1", field.spec.v1.is_some()),
        ("keep", field.spec.keep != Keep::V1),
        ("on_create", field.spec.on_create != OnCreate::Send),
        ("null_as", field.spec.null_as.is_some()),
    ];
    for (key, _) in of_v1.into_iter().filter(|(_, given)| *given) {
        faults.add(&trail.then(key), "the records are in the own store");
    }
}

fn fields_are_written(resource: &Resource, file: &ResourceFile, faults: &mut Faults) {
    for field in resource.fields.iter().filter(|field| file.fields[&field.name].sound) {
        if !field.spec.read_only && !field.spec.hidden && !file.inputs.contains_key(&field.name) {
            let trail = file.trail_of(&field.name);
            faults.add(&trail, "no input writes it; declare one, or `read_only = true`");
        }
    }
}

fn fields_are_read(draft: &Draft, index: usize, file: &ResourceFile, faults: &mut Faults) {
    let generic = draft.cases_of(index).find(|case| reads_generically(*case));
    for field in draft.resources[index].fields.iter().filter(|field| file.fields[&field.name].sound) {
        let trail = file.trail_of(&field.name);
        if let (None, Keep::V1, Some(case)) = (&field.spec.v1, field.spec.keep, generic) {
            let message =
                format!("`{}` has no `v1` name to read it from; only a special step could", case.operation.id);
            faults.add(&trail, message);
        }
    }
}

/// Checks whether the answer of an operation behind v1 is made by copying v1's values.
fn reads_generically(case: Case) -> bool {
    case.operation.answer != Answer::Empty && !matches!(case.operation.step, Step::Special(_) | Step::Pending)
}

fn inputs_have_fields(resource: &Resource, file: &ResourceFile, faults: &mut Faults) {
    for (name, input) in file.inputs.iter().filter(|(_, input)| input.sound) {
        let trail = file.trail().then("inputs").then(name.as_str());
        match resource.field(name) {
            None if !input.value.write_only => {
                faults.add(
                    &trail,
                    "there is no field of this name; say `write_only = true` when it never comes back",
                );
            }
            // A name in place of an id: write-only. The field that is read under the same name is its expansion.
            Some(field) if field.spec.read_only && input.value.write_only => {}
            Some(field) if field.spec.read_only => faults.add(&trail, "the field of this name is read-only"),
            _ => {}
        }
    }
}

//! Stage 2, bodies: members are declared once in `[inputs]`; an operation names the ones it takes and
//! says what differs. May use: `mapping`, this folder.

use super::draft::Builder;
use super::kinds;
use crate::mapping::{Faults, InputSpec, Trail};
use crate::plan::{BodyRule, Input};

pub(super) fn build(builder: &Builder, faults: &mut Faults) -> BodyRule {
    let Some(members) = &builder.spec.body else {
        return if builder.spec.head.value.body_ignored { BodyRule::Ignored } else { BodyRule::None };
    };
    let mut inputs = Vec::with_capacity(members.len());
    for (name, changes) in members {
        let trail = builder.trail.then("body").then(name.as_str());
        match builder.file.inputs.get(name) {
            Some(declared) => inputs.push(input(builder, name, &declared.value, &changes.value, &trail, faults)),
            // A table [inputs] that could not be found under its name was reported as such.
            None if builder.file.inputs.is_empty() && !builder.file.head.sound => {}
            None => faults.add(&trail, "[inputs] declares no such member"),
        }
    }
    BodyRule::Members(inputs)
}

fn input(
    builder: &Builder,
    name: &str,
    declared: &InputSpec,
    changes: &InputSpec,
    trail: &Trail,
    faults: &mut Faults,
) -> Input {
    let field = builder.fields.iter().position(|field| field.name == name);
    let trimmed = field.is_some_and(|field| builder.fields[field].trim);
    Input {
        name: name.into(),
        value: kinds::value_type(changes.kind.or(declared.kind), changes.items.or(declared.items), trail, faults),
        required: changes.required.or(declared.required).unwrap_or(false),
        nullable: changes.nullable.or(declared.nullable).unwrap_or(false),
        max_length: changes.max_length.or(declared.max_length),
        allowed: changes.allowed.as_ref().or(declared.allowed.as_ref()).cloned().unwrap_or_default(),
        default: changes.default.clone().or_else(|| declared.default.clone()),
        write_only: changes.write_only.or(declared.write_only).unwrap_or(false),
        trim: changes.trim.or(declared.trim).unwrap_or(trimmed),
        trim_ends: changes.trim_ends.or(declared.trim_ends).unwrap_or(false),
        references: changes.references.clone().or_else(|| declared.references.clone()),
        acyclic: changes.acyclic.or(declared.acyclic).unwrap_or(false),
        max_slug: changes.max_slug.or(declared.max_slug),
        refused: changes.refused.as_ref().or(declared.refused.as_ref()).cloned().into_iter().flatten().collect(),
        zone: changes.zone.or(declared.zone).unwrap_or(false),
        field,
        notes: changes.notes.clone().or_else(|| declared.notes.clone()).unwrap_or_default(),
    }
}

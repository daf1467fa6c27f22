//! Stage 2, bodies: members are declared once in `[inputs]`; an operation names the members it takes and
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
    for (name, spec) in members {
        let trail = builder.trail.then("body").then(name.as_str());
        if builder.file.inputs.contains_key(name) {
            inputs.push(input(builder, name, spec, &trail, faults));
        } else if builder.file.head.sound || !builder.file.inputs.is_empty() {
            // When no table was found under the name [inputs], that was already reported.
            faults.add(&trail, "[inputs] declares no such member");
        }
    }
    BodyRule::Members(inputs)
}

fn input(builder: &Builder, name: &str, spec: &InputSpec, trail: &Trail, faults: &mut Faults) -> Input {
    let field = builder.fields.iter().position(|field| field.name == name);
    let trimmed = field.is_some_and(|field| builder.fields[field].spec.trim);
    Input {
        name: name.into(),
        value: kinds::value_type(spec.kind, spec.items, trail, faults),
        trim: spec.trim.unwrap_or(trimmed),
        field,
        spec: spec.clone(),
    }
}

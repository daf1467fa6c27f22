//! Stage 2, query parameters: the operation's own, then `order_by`, `expand` and paging, which follow
//! from other keys. May use: `mapping`, this folder.

use super::draft::Builder;
use super::kinds;
use crate::mapping::{COMMON, Faults, ParamSpec, Trail};
use crate::plan::{Filter, FilterTest, Kind, Param, ParamRole, ValueType};

/// Suffixes of parameter names, each with the test it stands for.
const SUFFIXES: [(&str, FilterTest); 4] = [
    ("__in", FilterTest::In),
    ("__isnull", FilterTest::IsNull),
    ("__gte", FilterTest::AtLeast),
    ("__lte", FilterTest::AtMost),
];

/// Parameters that bound a field without containing its name (those of the audit log).
const BOUNDS: [(&str, &str, FilterTest); 2] =
    [("created_after", "created_at", FilterTest::AtLeast), ("created_before", "created_at", FilterTest::AtMost)];

pub(super) fn build(builder: &Builder, faults: &mut Faults) -> Vec<Param> {
    let trail = builder.trail.then("query");
    let mut params = Vec::new();
    for (name, spec) in &builder.spec.query {
        params.push(param(name, &spec.value, role(name, &spec.value), &trail.then(name.as_str()), faults));
    }
    params.extend(order_by(builder));
    params.extend(expand(builder));
    if builder.spec.head.value.paging {
        let trail = Trail::file(COMMON).then("paging");
        for (name, spec) in &builder.files.common.paging {
            params.push(param(name, &spec.value, ParamRole::Paging, &trail.then(name.as_str()), faults));
        }
    }
    params
}

fn param(name: &str, spec: &ParamSpec, role: ParamRole, trail: &Trail, faults: &mut Faults) -> Param {
    Param {
        name: name.into(),
        value: kinds::value_type(spec.kind, spec.items, trail, faults),
        role,
        spec: spec.clone(),
    }
}

fn role(name: &str, spec: &ParamSpec) -> ParamRole {
    if spec.option {
        return ParamRole::Option;
    }
    if name == "search" {
        return ParamRole::Search;
    }
    ParamRole::Filter(filter(name))
}

fn filter(name: &str) -> Filter {
    if let Some((_, field, test)) = BOUNDS.into_iter().find(|(bound, _, _)| *bound == name) {
        return Filter { field: field.into(), test };
    }
    let suffixed = SUFFIXES.into_iter().find_map(|(suffix, test)| Some((name.strip_suffix(suffix)?, test)));
    let (field, test) = suffixed.unwrap_or((name, FilterTest::Equal));
    Filter { field: field.into(), test }
}

fn order_by(builder: &Builder) -> Option<Param> {
    let order = &builder.spec.order.as_ref()?.value;
    let spec = ParamSpec {
        allowed: order.allowed.iter().flat_map(|field| [field.clone(), format!("-{field}")]).collect(),
        default: Some(order.default.clone().into()),
        notes: builder.files.common.order_by.notes.clone(),
        ..ParamSpec::default()
    };
    Some(Param { name: "order_by".into(), value: ValueType::One(Kind::String), role: ParamRole::OrderBy, spec })
}

fn expand(builder: &Builder) -> Option<Param> {
    let allowed = builder.spec.head.value.expand.clone();
    let notes = builder.files.common.expand.notes.clone();
    (!allowed.is_empty()).then(|| Param {
        name: "expand".into(),
        value: ValueType::Csv(Kind::String),
        role: ParamRole::Expand,
        spec: ParamSpec { allowed, notes, ..ParamSpec::default() },
    })
}

//! Rules of the parameters of lists: filters, options and their values. May use: `mapping`, this folder.

use super::draft::{Case, Draft};
use crate::mapping::{Faults, Trail};
use crate::plan::{Filter, FilterTest, Kind, Param, ParamRole, ValueType};
use serde_json::Value;

pub(super) fn params_fit(draft: &Draft, case: Case, faults: &mut Faults) {
    let own = case.operation.params.iter().filter(|param| case.spec.query.contains_key(&param.name));
    for param in own.filter(|param| case.spec.query[&param.name].sound) {
        let trail = case.trail().then("query").then(param.name.as_str());
        if draft.files.common.paging.contains_key(&param.name)
            || ["order_by", "expand"].contains(&param.name.as_str())
        {
            faults.add(&trail, "follows from other keys and is not declared");
            continue;
        }
        if !case.operation.is_list() && param.role != ParamRole::Option {
            faults
                .add(&trail, "there is no list to narrow; say `option = true` when the operation reads it itself");
            continue;
        }
        if let ParamRole::Filter(filter) = &param.role {
            case.must_have(&filter.field, &trail, faults);
            test_fits(param, filter, &trail, faults);
            kind_fits(case, param, filter, &trail, faults);
            enum_fits(case, param, filter, &trail, faults);
        }
        default_is_allowed(param.spec.default.as_ref(), &param.spec.allowed, &trail, faults);
    }
}

fn test_fits(param: &Param, filter: &Filter, trail: &Trail, faults: &mut Faults) {
    let is_csv = matches!(param.value, ValueType::Csv(_));
    if is_csv != (filter.test == FilterTest::In) {
        faults.add(trail, "a parameter is `csv` exactly when its name ends in __in");
    }
    if filter.test == FilterTest::IsNull && param.value != ValueType::One(Kind::Boolean) {
        faults.add(trail, "__isnull takes a boolean");
    }
}

/// Checks that a filter behind v1 has the kind of its field's values. A value of another kind could never be equal.
fn kind_fits(case: Case, param: &Param, filter: &Filter, trail: &Trail, faults: &mut Faults) {
    let (ValueType::One(asked) | ValueType::Csv(asked)) = param.value else { return };
    let held = case.resource.field(&filter.field).and_then(|field| match field.value {
        ValueType::One(kind) => Some(kind),
        ValueType::Array(kind) => kind,
        ValueType::Csv(_) => None,
    });
    let compared = case.translates() && filter.test != FilterTest::IsNull;
    if compared && held.is_some_and(|held| held != asked) {
        faults.add(trail, format!("is of another kind than the values of `{}`", filter.field));
    }
}

/// Checks that a filter offers only values that can be written.
fn enum_fits(case: Case, param: &Param, filter: &Filter, trail: &Trail, faults: &mut Faults) {
    let Some(input) = case.file.inputs.get(&filter.field) else { return };
    let never = |value: &&String| !input.value.allowed.is_empty() && !input.value.allowed.contains(value);
    for value in param.spec.allowed.iter().filter(never) {
        faults.add(&trail.then("enum"), format!("`{value}` is not among the values `{}` takes", filter.field));
    }
}

/// Checks that a default is one of the values that are allowed, where not all are.
pub(super) fn default_is_allowed(default: Option<&Value>, allowed: &[String], trail: &Trail, faults: &mut Faults) {
    let Some(default) = default.and_then(Value::as_str) else { return };
    if !allowed.is_empty() && !allowed.iter().any(|value| value == default) {
        faults.add(&trail.then("default"), format!("`{default}` is not among the values it takes"));
    }
}

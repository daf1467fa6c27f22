//! Rules of lists: order, paging, filters, search, expansion; and where they come from the index, which column each cell
//! is, and whether it can do what is asked. May use: `mapping`, this folder.

use super::draft::{Case, Draft};
use crate::mapping::{Faults, Order, Read, Special, Step, Trail};
use crate::plan::{Column, Filter, FilterTest, Kind, Param, ParamRole, ValueType};

pub(super) fn check(draft: &Draft, faults: &mut Faults) {
    for case in draft.cases() {
        lists_have_what_they_need(case, faults);
        if let Some(order) = case.operation.order.as_ref().filter(|_| is_sound(&case.spec.order)) {
            order_fits(case, order, faults);
        }
        search_fits(case, faults);
        expand_fits(case, faults);
        params_fit(draft, case, faults);
    }
}

fn is_sound<T>(part: &Option<Read<T>>) -> bool {
    part.as_ref().is_some_and(|part| part.sound)
}

fn lists_have_what_they_need(case: Case, faults: &mut Faults) {
    let is_list = case.operation.is_list();
    let keys = [("order", case.operation.order.is_some()), ("paging", case.spec.head.value.paging)];
    for (key, present) in keys {
        match (is_list, present) {
            (true, false) => faults.add(&case.trail(), format!("a list needs `{key}`")),
            (false, true) => faults.add(&case.trail().then(key), "only a list has this"),
            _ => {}
        }
    }
}

fn order_fits(case: Case, order: &Order, faults: &mut Faults) {
    let trail = case.trail().then("order");
    let default = order.default.strip_prefix('-').unwrap_or(&order.default);
    if !order.allowed.iter().any(|field| field == default) {
        faults.add(&trail.then("default"), format!("`{default}` is not among the allowed fields"));
    }
    for field in order.cursor.iter().filter(|field| !order.allowed.contains(field)) {
        faults.add(&trail.then("cursor"), format!("`{field}` is not among the allowed fields"));
    }
    for field in &order.allowed {
        has_field(case, field, &trail.then("allowed"), faults);
    }
}

fn search_fits(case: Case, faults: &mut Faults) {
    let param = case.operation.params.iter().any(|param| param.role == ParamRole::Search);
    match (case.operation.search.is_empty(), param) {
        (false, false) => {
            faults.add(&case.trail().then("search"), "names fields, but there is no parameter `search`")
        }
        (true, true) => {
            faults.add(&case.trail().then("query").then("search"), "`search` names no fields to look at")
        }
        _ => {}
    }
    for field in &case.operation.search {
        has_field(case, field, &case.trail().then("search"), faults);
    }
}

fn expand_fits(case: Case, faults: &mut Faults) {
    for field in &case.operation.expand {
        has_field(case, field, &case.trail().then("expand"), faults);
    }
}

/// The resource must have a field that an operation at work looks at.
fn has_field(case: Case, field: &str, trail: &Trail, faults: &mut Faults) {
    if case.operation.works() && case.resource.field(field).is_none() {
        faults.add(trail, format!("the resource has no field `{field}`"));
    }
}

fn params_fit(draft: &Draft, case: Case, faults: &mut Faults) {
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
            has_field(case, &filter.field, &trail, faults);
            test_fits(param, filter, &trail, faults);
            kind_fits(case, param, filter, &trail, faults);
            enum_fits(case, param, filter, &trail, faults);
        }
        default_is_allowed(param, &trail, faults);
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

/// Behind v1 a filter is compared with values of its own kind; no other could ever be equal.
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

/// A filter offers nothing that can never be written.
fn enum_fits(case: Case, param: &Param, filter: &Filter, trail: &Trail, faults: &mut Faults) {
    let Some(allowed) = case.file.inputs.get(&filter.field).and_then(|input| input.value.allowed.as_ref()) else {
        return;
    };
    for value in param.allowed.iter().filter(|value| !allowed.contains(value)) {
        faults.add(&trail.then("enum"), format!("`{value}` is not among the values `{}` takes", filter.field));
    }
}

fn default_is_allowed(param: &Param, trail: &Trail, faults: &mut Faults) {
    let Some(default) = param.default.as_ref().and_then(|default| default.as_str()) else { return };
    if !param.allowed.is_empty() && !param.allowed.iter().any(|value| value == default) {
        faults.add(&trail.then("default"), format!("`{default}` is not among the values it takes"));
    }
}

/// Finds the column of each cell of work items.
pub(super) fn choose_columns(draft: &mut Draft, faults: &mut Faults) {
    let from_the_index = |case: &Case| case.operation.step == Step::Special(Special::WorkItemsList);
    let lists: Vec<usize> = draft.cases().filter(from_the_index).map(|case| case.operation.resource).collect();
    let files = draft.files;
    for index in lists {
        let (resource, file, mut columns) = (&mut draft.resources[index], &files.resources[index], Vec::new());
        let cells = resource.cells.iter().map(|&field| &resource.fields[field]);
        for field in cells.filter(|field| file.fields[&field.name].sound) {
            let trail = file.trail_of(&field.name);
            match field.name.parse::<Column>() {
                Ok(column) if column.value() == field.value => columns.push(column),
                Ok(_) => faults.add(&trail, "the column of the index holds values of another kind"),
                Err(_) => faults.add(&trail, "a list looks at it, but the index has no such column"),
            }
        }
        resource.columns = columns.into();
    }
    for case in draft.cases().filter(from_the_index) {
        columns_fit(case, faults);
    }
}

/// The index can order by, resume from and search in what the list names.
fn columns_fit(case: Case, faults: &mut Faults) {
    let can = |field: &String, able: fn(Column) -> bool| field.parse().is_ok_and(able);
    if let Some(Order { allowed, cursor, .. }) = &case.operation.order {
        let trail = case.trail().then("order");
        for field in allowed.iter().filter(|field| !can(field, Column::is_ordered)) {
            faults.add(&trail.then("allowed"), format!("the index cannot order by `{field}`"));
        }
        for field in cursor.iter().filter(|field| !can(field, Column::is_resumed)) {
            faults.add(&trail.then("cursor"), format!("the index cannot resume from `{field}`"));
        }
    }
    for field in case.operation.search.iter().filter(|field| !can(field, |column| column == Column::Name)) {
        faults.add(&case.trail().then("search"), format!("the index cannot search in `{field}`"));
    }
}

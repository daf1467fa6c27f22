//! Rules of lists: order, paging, search, expansion and, in `filters`, their parameters.
//!
//! May use: `mapping`, this folder.

use super::draft::{Case, Draft};
use super::filters;
use crate::mapping::{Faults, Order, Read};
use crate::plan::ParamRole;

pub(super) fn check(draft: &Draft, faults: &mut Faults) {
    for case in draft.cases() {
        lists_have_what_they_need(case, faults);
        if let Some(order) = case.operation.order.as_ref().filter(|_| is_sound(&case.spec.order)) {
            order_fits(case, order, faults);
        }
        search_fits(case, faults);
        expand_fits(case, faults);
        filters::params_fit(draft, case, faults);
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
        case.must_have(field, &trail.then("allowed"), faults);
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
        case.must_have(field, &case.trail().then("search"), faults);
    }
}

fn expand_fits(case: Case, faults: &mut Faults) {
    for field in &case.operation.expand {
        case.must_have(field, &case.trail().then("expand"), faults);
    }
}

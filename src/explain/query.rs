//! The parts of a request's query: their meaning and where each is evaluated. May use: `plan`, `refusal`,
//! `run`, `v2`.

use crate::plan::{Answer, FilterTest, Operation, ParamRole, Plan, Source, Special, Step};
use crate::refusal::Refusal;
use crate::run::outlook::{self, ItemsFrom};
use crate::v2::Parameters;
use crate::v2::query::{self, ListCall};
use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct Part {
    pub name: String,
    /// Value in effect.
    pub value: String,
    pub does: String,
    pub evaluated: &'static str,
}

#[derive(Debug, Default)]
pub struct Reading {
    pub parts: Vec<Part>,
    /// Reason why the query would be rejected.
    pub refusal: Option<Refusal>,
    /// The requested list, when the request is valid.
    pub list: Option<ListCall>,
    pub expand: Vec<String>,
    /// Words that the operation itself reads.
    pub options: Vec<String>,
}

const COMPLETE: &str = "in the gateway, over the complete collection of v1";
const LOOK_UP: &str =
    "by a look-up v1 answers directly, the rest on the one row found; from the index once it is built";
const PAGE: &str = "by v1, which sorts and pages truly here; from the local index once it is built";
const INDEX: &str = "in the local index";
const STORE: &str = "in the gateway's own store, by SQL";
const DEFINITIONS: &str = "in the gateway, over the definitions of its own store";
const KEPT: &str = "in the gateway, from kept collections of v1";
const RECORDED: &str = "in the gateway, from its own store";
const NOWHERE: &str = "not at all";
const ITSELF: &str = "by the operation itself";

pub(super) fn read(plan: &Plan, operation: &Operation, text: &str, strict: bool) -> Reading {
    let mut reading = Reading::default();
    let parameters = Parameters::parse(text);
    let declaring = outlook::expanding(plan, operation);
    let resource = plan.resource_of(operation);
    let expands = if operation.is_list() {
        let list = query::read_list(operation, resource, &parameters, strict);
        list.map(|list| reading.list.insert(list).expand.clone())
    } else if operation.answer == Answer::Empty {
        Ok(Vec::new())
    } else {
        query::read_single(declaring, &parameters)
    };
    let expands = expands.unwrap_or_else(|refusal| {
        reading.refusal = Some(refusal);
        Vec::new()
    });
    reading.expand = expands.iter().filter_map(|&index| declaring.expand.get(index).cloned()).collect();
    read_options(operation, &parameters, &mut reading);
    let evaluated = rows_from(plan, operation, reading.list.as_ref());
    reading.parts = parts(operation, &parameters, &reading, evaluated);
    reading
}

/// Reads the parameters that the operation itself reads, such as `include`.
fn read_options(operation: &Operation, parameters: &Parameters, reading: &mut Reading) {
    for param in operation.params.iter().filter(|param| param.role == ParamRole::Option) {
        match query::read_words(operation, parameters, &param.name) {
            Ok(words) => reading.options.extend(words),
            Err(refusal) => reading.refusal = reading.refusal.take().or(Some(refusal)),
        }
    }
}

/// Returns the place where the rows of a list are filtered, searched, ordered and cut into pages.
fn rows_from(plan: &Plan, operation: &Operation, list: Option<&ListCall>) -> &'static str {
    let resource = plan.resource_of(operation);
    match (&operation.step, resource.source) {
        (Step::Special(Special::WorkItemsList), _) => match list.map(|list| outlook::items_from(resource, list)) {
            Some(ItemsFrom::LookUp) => LOOK_UP,
            Some(ItemsFrom::Page) => PAGE,
            Some(ItemsFrom::Index) | None => INDEX,
        },
        (Step::Special(_), Source::Own) => STORE,
        (_, Source::Own) => DEFINITIONS,
        (_, Source::V1) => COMPLETE,
    }
}

fn parts(operation: &Operation, parameters: &Parameters, reading: &Reading, evaluated: &'static str) -> Vec<Part> {
    let mut names: Vec<&str> = Vec::new();
    for name in parameters.names().filter(|name| !["order_by", "expand"].contains(name)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut parts: Vec<Part> = names.into_iter().map(|name| part(operation, name, parameters, evaluated)).collect();
    for name in &reading.expand {
        let evaluated = if name == "type" { RECORDED } else { KEPT };
        parts.push(Part { name: "expand".into(), value: name.clone(), does: format!("adds `{name}`"), evaluated });
    }
    if let (Answer::Empty, Some(value)) = (operation.answer, parameters.given("expand")) {
        let (name, does) = ("expand".into(), "ignored: there is no body".into());
        parts.push(Part { name, value: value.to_owned(), does, evaluated: NOWHERE });
    }
    parts.extend(order(operation, parameters, reading.list.as_ref(), evaluated));
    parts
}

fn part(operation: &Operation, name: &str, parameters: &Parameters, evaluated: &'static str) -> Part {
    let value = parameters.get(name).unwrap_or_default().to_owned();
    let told = |does: String, evaluated| Part { name: name.into(), value: value.clone(), does, evaluated };
    let Some(param) = operation.params.iter().find(|param| param.name == name) else {
        return match operation.is_list() && name != "fields" {
            true => told("no parameter of this list".into(), NOWHERE),
            false => told("ignored".into(), NOWHERE),
        };
    };
    if value.is_empty() && param.role != ParamRole::Paging {
        return told("empty, which counts as absent".into(), NOWHERE);
    }
    match &param.role {
        ParamRole::Filter(filter) => told(format!("filters `{}`: {}", filter.field, test(filter.test)), evaluated),
        ParamRole::Search => told(format!("searches {}", operation.search.join(", ")), evaluated),
        ParamRole::Paging => told("pages".into(), evaluated),
        ParamRole::Option => told(param.spec.notes.clone(), ITSELF),
        ParamRole::OrderBy | ParamRole::Expand => told(param.spec.notes.clone(), evaluated),
    }
}

fn test(test: FilterTest) -> &'static str {
    match test {
        FilterTest::Equal => "equal",
        FilterTest::In => "any of",
        FilterTest::IsNull => "unset (true) or set (false)",
        FilterTest::AtLeast => "not less than",
        FilterTest::AtMost => "not more than",
    }
}

/// Returns the order in effect. An unknown order in the request does not change it.
fn order(
    operation: &Operation,
    parameters: &Parameters,
    list: Option<&ListCall>,
    evaluated: &'static str,
) -> Option<Part> {
    let rules = operation.order.as_ref()?;
    let value = match list {
        Some(list) if list.order.descending => format!("-{}", list.order.field),
        Some(list) => list.order.field.clone(),
        None => rules.default.clone(),
    };
    let does = match parameters.given("order_by") {
        None => "orders, by default".to_owned(),
        Some(asked) if asked == value => "orders".to_owned(),
        Some(asked) => format!("orders by default, because it cannot order by {asked}"),
    };
    Some(Part { name: "order_by".into(), value, does, evaluated })
}

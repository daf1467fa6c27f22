//! What a call and its plan alone say about the answer. `causeway explain` tells it, and the runner goes by it.
//!
//! May use: what `run` may use.

use crate::index::Needs;
use crate::plan::{Known, Operation, Plan, Resource};
use crate::refusal::Refusal;
use crate::run::items::{lookup, page};
use crate::run::writes::checks;
use crate::v2::body;
use crate::v2::query::ListCall;

/// Where a list of work items comes from while no index of the project is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemsFrom {
    /// A look-up v1 answers directly.
    LookUp,
    /// A page v1 can answer truly.
    Page,
    /// The index, which is built for it.
    Index,
}

/// Where the work items of `call` come from.
pub fn items_from(resource: &Resource, call: &ListCall) -> ItemsFrom {
    if lookup::wanted(resource, call).is_some() {
        return if item_needs(resource, call) == Needs::default() { ItemsFrom::LookUp } else { ItemsFrom::Index };
    }
    if page::is_possible(call) { ItemsFrom::Page } else { ItemsFrom::Index }
}

/// What the index needs beside the items to answer `call`.
pub fn item_needs(resource: &Resource, call: &ListCall) -> Needs {
    Needs::of(call, &resource.columns)
}

/// The resource whose list tells an expansion of work items; none for what the gateway has itself.
pub fn expanded_from(name: &str) -> Option<Known> {
    match name {
        "state" => Some(Known::States),
        _ if name == Known::Labels.name() => Some(Known::Labels),
        "assignees" => Some(Known::ProjectMembers),
        "parent" => Some(Known::WorkItems),
        _ => None,
    }
}

/// The operation that declares what another can expand: the archive verbs of work items declare nothing but
/// honour what a retrieve does (O25).
pub fn expanding<'p>(plan: &'p Plan, operation: &'p Operation) -> &'p Operation {
    let of_items = plan.resource_of(operation).is(Known::WorkItems);
    let retrieve = plan.operation("work_items_retrieve").filter(|_| of_items && operation.expand.is_empty());
    retrieve.unwrap_or(operation)
}

/// What the gateway says of a body before it looks anything up.
#[derive(Debug, Default)]
pub struct JudgedBody {
    /// Why it is refused.
    pub refusal: Option<Refusal>,
    /// Members that change nothing.
    pub ignored: Vec<String>,
}

/// Judges a JSON body by what the operation declares, and by the rules that need nothing that is stored.
pub fn judged_body(resource: &Resource, operation: &Operation, bytes: &[u8]) -> JudgedBody {
    let members = match body::parse(Some("application/json"), bytes) {
        Ok(members) => members,
        Err(refusal) => return JudgedBody { refusal: Some(refusal), ..JudgedBody::default() },
    };
    let judged = body::check(operation, &members).and_then(|given| checks::order_of_dates(resource, &given, None));
    JudgedBody { refusal: judged.err(), ignored: body::ignored(operation, &members) }
}

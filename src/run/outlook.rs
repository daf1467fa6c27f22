//! Predictions about an answer from the call and its plan alone. `causeway explain` prints them; the runner uses them.
//!
//! May use: what `run` may use.

use crate::catalogue::{EntryForm, faults_inside, ignored_inside};
use crate::index::Needs;
use crate::plan::{Known, Operation, OwnRecords, Plan, Resource, Step, Surface};
use crate::refusal::Refusal;
use crate::run::items::{lookup, page};
use crate::run::writes::checks;
use crate::v2::body::{self, Given};
use crate::v2::query::ListCall;

/// The source of a list of work items while no index of the project is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemsFrom {
    /// A look-up that v1 answers directly.
    LookUp,
    /// A page that v1 can answer correctly.
    Page,
    /// The index, which is built for the call.
    Index,
}

/// Returns the source of the work items of `call`.
pub fn items_from(resource: &Resource, call: &ListCall) -> ItemsFrom {
    if lookup::wanted(resource, call).is_some() {
        return if item_needs(resource, call) == Needs::default() { ItemsFrom::LookUp } else { ItemsFrom::Index };
    }
    if page::is_possible(call) { ItemsFrom::Page } else { ItemsFrom::Index }
}

/// Returns the data that the index needs beside the items to answer `call`.
pub fn item_needs(resource: &Resource, call: &ListCall) -> Needs {
    Needs::of(call, &resource.columns)
}

/// Returns the resource whose list contains the records of an expansion of work items; none for the gateway's own data.
pub fn expanded_from(name: &str) -> Option<Known> {
    match name {
        "state" => Some(Known::States),
        _ if name == Known::Labels.name() => Some(Known::Labels),
        "assignees" => Some(Known::ProjectMembers),
        "parent" => Some(Known::WorkItems),
        _ => None,
    }
}

/// Returns the operation that declares the expansions of another one: the archive verbs of work items declare none, but
/// accept those of a retrieve (O25).
pub fn expanding<'p>(plan: &'p Plan, operation: &'p Operation) -> &'p Operation {
    let of_items = plan.resource_of(operation).is(Known::WorkItems);
    let retrieve = plan.operation("work_items_retrieve").filter(|_| of_items && operation.expand.is_empty());
    retrieve.unwrap_or(operation)
}

/// Returns the form of the entries of `options` in a body of the operation; none when its members are single values.
pub fn entry_form(resource: &Resource, operation: &Operation) -> Option<EntryForm> {
    match resource.records? {
        OwnRecords::Properties => {
            Some(EntryForm::inline(operation.surface == Surface::Project, operation.step == Step::Create))
        }
        OwnRecords::Contexts => Some(EntryForm::IN_CONTEXT),
        _ => None,
    }
}

/// Result of checking a body before anything is looked up.
#[derive(Debug, Default)]
pub struct JudgedBody {
    /// The refusal, if any.
    pub refusal: Option<Refusal>,
    /// Members that change nothing.
    pub ignored: Vec<String>,
}

/// Checks a JSON body against the declaration of the operation, and against the rules that need no stored data.
pub fn judged_body(resource: &Resource, operation: &Operation, bytes: &[u8]) -> JudgedBody {
    let members = match body::parse(Some("application/json"), bytes) {
        Ok(members) => members,
        Err(refusal) => return JudgedBody { refusal: Some(refusal), ..JudgedBody::default() },
    };
    let form = entry_form(resource, operation);
    let faults = |given: &Given| form.map(|form| faults_inside(given, form)).unwrap_or_default();
    let judged = body::check_with(operation, &members, faults).and_then(|given| {
        checks::order_of_dates(resource, &given, None)?;
        faults(&given).or(given)
    });
    let mut ignored = body::ignored(operation, &members);
    if let (Ok(given), Some(form)) = (&judged, form) {
        ignored.extend(ignored_inside(given, form));
    }
    JudgedBody { refusal: judged.err(), ignored }
}

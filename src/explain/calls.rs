//! The v1 calls behind a request: calls that prove access, calls of the plan, and calls that the query adds. May use:
//! `access`, `index`, `plan`, `run`, this folder.

use super::query::Reading;
use crate::access::paths;
use crate::index::SetNeeds;
use crate::plan::{Known, Made, Method, Operation, PathTemplate, Plan, PlannedCall, Source, Surface};
use crate::run::outlook::{self, ItemsFrom};
use serde::Serialize;

/// A v1 call.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
pub struct ToldCall {
    /// Method.
    pub method: &'static str,
    /// Path below v1's base; values that are unknown before the call stay as variables.
    pub path: String,
    /// Query, as far as it is known before the call.
    pub query: String,
    /// Condition under which the call is made; `None` means always.
    pub when: Option<String>,
}

/// Builds the v1 paths for one request.
pub(super) struct Paths<'e> {
    pub(super) plan: &'e Plan,
    pub(super) operation: &'e Operation,
    pub(super) variables: &'e [(String, String)],
}

impl Paths<'_> {
    /// Returns the calls with empty caches, and the calls with full caches.
    pub(super) fn planned(&self, reading: &Reading) -> (Vec<ToldCall>, Vec<ToldCall>) {
        let calls = &self.operation.v1;
        let told = |call: &PlannedCall| self.tell(call, reading);
        let usual = calls.iter().filter(|call| !matches!(call.made, Made::ForEach(_)));
        let always = calls.iter().filter(|call| call.made == Made::Always);
        (usual.map(told).collect(), always.map(told).collect())
    }

    fn tell(&self, call: &PlannedCall, reading: &Reading) -> ToldCall {
        let resource = self.plan.resource_of(self.operation);
        let from = reading.list.as_ref().filter(|_| resource.is(Known::WorkItems));
        let when = match from.map(|list| outlook::items_from(resource, list)) {
            Some(ItemsFrom::LookUp) => Some("the look-up, or one call for each 1,000 rows to build the index"),
            Some(ItemsFrom::Page) => Some("one page, sorted by v1"),
            Some(ItemsFrom::Index) => Some("one call for each 1,000 rows, to build the index"),
            None => None,
        };
        self.call(call.method, &call.path, call.query.clone(), when.map(str::to_owned))
    }

    /// Returns the calls that prove access with empty caches.
    pub(super) fn proofs(&self) -> Vec<ToldCall> {
        let resource = self.plan.resource_of(self.operation);
        let below = |path, when| self.at(path, when);
        let mut proofs = Vec::from_iter(below(paths::IDENTITY, "the credential was not seen lately"));
        let looks_up = self.operation.path.variables().any(|name| name == "identifier");
        match (self.operation.surface, resource.source) {
            (Surface::User, _) => {}
            (Surface::Workspace, _) if looks_up => {
                proofs.extend(below(paths::PROJECT, "the card of the project it is in is not kept"));
            }
            (Surface::Workspace, Source::Own) => {
                proofs.extend(below(paths::ROSTER, "the card of the workspace is not kept"));
                proofs.extend(below(paths::PROJECTS, "the id of the workspace is not known"));
            }
            // The card of the workspace is its roster. The mapping of the roster's own list counts that call.
            (Surface::Workspace, Source::V1) => {}
            (Surface::Project, _) => proofs.extend(below(paths::PROJECT, "the card of the project is not kept")),
        }
        proofs
    }

    /// Returns the calls that the query needs besides the planned ones.
    pub(super) fn further(&self, reading: &Reading) -> Vec<ToldCall> {
        let resource = self.plan.resource_of(self.operation);
        let mut further: Vec<ToldCall> = self.operation.v1.iter().filter_map(|call| self.extra(call)).collect();
        if let Some(list) = reading.list.as_ref().filter(|_| resource.is(Known::WorkItems)) {
            let needs = outlook::item_needs(resource, list);
            if needs.groups {
                further.extend(self.list_of(Known::States, "unless kept, for the groups of states"));
            }
            if needs.labels {
                further.extend(self.list_of(Known::Labels, "unless kept, for the labels that live"));
            } else if !reading.expand.iter().any(|name| name == "labels") {
                further.extend(self.list_of(Known::Labels, "unless kept, when an item of the page carries labels"));
            }
            for (sets, kind) in [(&needs.cycles, Known::Cycles), (&needs.modules, Known::Modules)] {
                self.members(sets, kind, &mut further);
            }
        }
        for name in &reading.expand {
            let Some(of) = outlook::expanded_from(name) else { continue };
            let when = match name.as_str() {
                "parent" => "to expand parents that the index does not know".to_owned(),
                "state" => "unless kept, to expand the state".to_owned(),
                several => format!("unless kept, to expand {several} when there are any"),
            };
            further.extend(self.list_of(of, &when));
        }
        for word in &reading.options {
            let of = if word == "members" { Known::ProjectMembers } else { Known::Labels };
            further.extend(self.list_of(of, &format!("unless kept, to include {word}")));
        }
        further
    }

    /// Returns a call that is made for each record of some kind; `None` for the usual calls.
    fn extra(&self, call: &PlannedCall) -> Option<ToldCall> {
        let Made::ForEach(extra) = call.made else { return None };
        let when = format!("for each {}", <&str>::from(extra).replace('_', " "));
        Some(self.call(call.method, &call.path, call.query.clone(), Some(when)))
    }

    fn members(&self, sets: &SetNeeds, kind: Known, further: &mut Vec<ToldCall>) {
        let record = self.plan.known(kind).and_then(|resource| resource.v1.as_ref()?.record.as_ref());
        let (Some(record), Some(items)) = (record, kind.items()) else { return };
        let path = format!("{}{items}", record.as_str());
        let when = "unless kept, one call for each 1,000 members";
        let is_long = sets.named.len() > SetNeeds::FEW;
        if sets.any || is_long {
            let when =
                if sets.any { "unless kept, to know every set" } else { "unless kept, to know which sets exist" };
            let live = self.list_of(kind, when);
            let archived = live.as_ref().and_then(|live| self.at(&kind.archived(&live.path), when));
            further.extend(live.into_iter().chain(archived));
        }
        if sets.any {
            further.extend(self.at(&path, "unless kept, for each set"));
        }
        for id in &sets.named {
            further.extend(self.at(&path.replace("{pk}", &id.to_string()), when));
        }
    }

    fn list_of(&self, resource: Known, when: &str) -> Option<ToldCall> {
        let v1 = self.plan.known(resource)?.v1.as_ref()?;
        Some(self.call(Method::Get, v1.collection.as_ref()?, v1.list_query.clone(), Some(when.to_owned())))
    }

    fn at(&self, path: &str, when: &str) -> Option<ToldCall> {
        Some(self.call(Method::Get, &PathTemplate::parse(path).ok()?, String::new(), Some(when.to_owned())))
    }

    fn call(&self, method: Method, path: &PathTemplate, query: String, when: Option<String>) -> ToldCall {
        let known = |name: &str| self.variables.iter().find(|(known, _)| known == name).map(|(_, v)| v.as_str());
        ToldCall { method: method.as_str(), path: path.fill_known(known), query, when }
    }
}

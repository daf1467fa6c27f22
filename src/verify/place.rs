//! Records that exist behind the gateway: workspace, project, and one record of each resource, for paths. May use:
//! `outgoing`, `plan`, this folder.

use super::client::Gateway;
use super::report::{Finding, VerificationParameters};
use crate::outgoing::Answer;
use crate::plan::{Known, Operation, Plan, Surface};
use serde_json::Value;
use std::collections::HashMap;

/// Values for the variables of paths.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    pub(super) workspace: Option<String>,
    pub(super) project: Option<String>,
    /// Status of v1's list of projects, when it was asked for one.
    pub(super) listed: Option<u16>,
    /// Human key of the work item.
    pub(super) identifier: Option<String>,
    pub(super) records: HashMap<String, String>,
}

/// Variables that name a record inside a workspace or project.
const RECORDS: [&str; 4] = ["pk", "work_item_id", "property_id", "type_id"];

impl Place {
    /// Finds a project, unless one is named, and one record of each resource.
    pub(super) async fn found(
        plan: &Plan,
        gateway: &Gateway,
        wanted: &VerificationParameters,
    ) -> Result<Self, String> {
        let mut place =
            Self { workspace: wanted.workspace.clone(), project: wanted.project.clone(), ..Self::default() };
        if let (Some(slug), None) = (&place.workspace, &place.project) {
            let page = gateway.get(&projects(slug)).await?;
            (place.listed, place.project) = (Some(page.status), own_project(&page));
        }
        let mut lists: Vec<&Operation> = plan.operations.iter().filter(|operation| operation.is_list()).collect();
        lists.sort_by_key(|operation| operation.path.variables().count());
        for list in lists.iter().copied() {
            place.look(plan, gateway, list).await?;
        }
        for list in lists {
            if !place.records.contains_key(&plan.resource_of(list).name) {
                place.look_at_other_types(plan, gateway, list).await?;
            }
        }
        Ok(place)
    }

    /// Tries other types: the first type may have no records of this list, which belong to types. Then another one of
    /// the first few types is used.
    async fn look_at_other_types(
        &mut self,
        plan: &Plan,
        gateway: &Gateway,
        list: &Operation,
    ) -> Result<(), String> {
        let types = types_of(list);
        let Some(first) = self.records.get(&types).cloned().filter(|_| names_a_type(list)) else { return Ok(()) };
        let all = plan.operations.iter().find(|other| other.is_list() && plan.resource_of(other).name == types);
        let Some(Ok(path)) = all.map(|all| self.path(plan, all)) else { return Ok(()) };
        let page = gateway.get(&path).await?;
        for id in page.rows().iter().filter_map(|row| row["id"].as_str()).take(MOST_TYPES) {
            self.records.insert(types.clone(), id.to_owned());
            self.look(plan, gateway, list).await?;
            if self.records.contains_key(&plan.resource_of(list).name) {
                return Ok(());
            }
        }
        self.records.insert(types, first);
        Ok(())
    }

    /// Stores a record from `list`, if the list can be read and is not empty.
    pub(super) async fn look(&mut self, plan: &Plan, gateway: &Gateway, list: &Operation) -> Result<(), String> {
        let Ok(path) = self.path(plan, list) else { return Ok(()) };
        let page = gateway.get(&path).await?;
        // Prefer a property that can have options, so that the options can be read too.
        let chosen = page.rows().iter().find(|row| row["property_type"] == "OPTION").or(page.rows().first());
        if let Some(row) = chosen {
            self.remember(&plan.resource_of(list).name, row);
        }
        Ok(())
    }

    pub(super) fn remember(&mut self, resource: &str, row: &Value) {
        if let Some(id) = row["id"].as_str() {
            self.records.insert(resource.to_owned(), id.to_owned());
        }
        if resource == Known::WorkItems.name() {
            self.identifier = human_key(row);
        }
    }

    /// Checks whether the workspace and project in an operation's path were named or found.
    pub(super) fn is_reachable(&self, operation: &Operation) -> Result<(), Finding> {
        let impossible = |text: &str| Err(Finding::Impossible(text.to_owned()));
        match operation.surface {
            Surface::User => Ok(()),
            _ if self.workspace.is_none() => impossible("no --workspace was given"),
            Surface::Project if self.project.is_none() => impossible(match self.listed {
                Some(200) => "no --project was given, and the key belongs to none in this workspace",
                Some(401 | 403) => {
                    "no --project was given, and v1 lists no projects for this key; it does so only for v1 keys, not \
                     for keys of the gateway"
                }
                _ => "no --project was given, and v1's list of projects cannot be read",
            }),
            _ => Ok(()),
        }
    }

    /// Returns the path of an operation with existing records.
    pub(super) fn path(&self, plan: &Plan, operation: &Operation) -> Result<String, Finding> {
        let value = |name: &str| self.value(plan, operation, name);
        let missing = operation.path.variables().find(|name| value(name).is_none());
        match (missing, operation.path.fill(value)) {
            (None, Some(path)) => Ok(absolute(&path)),
            (missing, _) => {
                Err(Finding::Impossible(format!("there is nothing for {}", missing.unwrap_or("the path"))))
            }
        }
    }

    /// Returns the path with random ids in place of all records.
    pub(super) fn path_to_nothing(&self, operation: &Operation) -> Result<String, Finding> {
        let random = uuid::Uuid::new_v4().to_string();
        let value = |name: &str| match name {
            "slug" => self.workspace.as_deref(),
            "project_id" => self.project.as_deref(),
            "identifier" => Some("QZXVWK-999999999"),
            _ => Some(random.as_str()),
        };
        let path = operation.path.fill(value).ok_or_else(|| Finding::Impossible("nothing to name".into()))?;
        Ok(absolute(&path))
    }

    fn value(&self, plan: &Plan, operation: &Operation, name: &str) -> Option<&str> {
        let surface: &str = operation.surface.into();
        let record = |resource: &str| self.records.get(resource).map(String::as_str);
        match name {
            "slug" => self.workspace.as_deref(),
            "project_id" => self.project.as_deref(),
            "identifier" => self.identifier.as_deref(),
            "pk" => record(&plan.resource_of(operation).name),
            "work_item_id" => record(Known::WorkItems.name()),
            "property_id" => record(&format!("{surface}_work_item_properties")),
            "type_id" => record(&types_of(operation)),
            _ => None,
        }
    }
}

/// Checks that the named workspace and project exist for this key, so that the fault is reported once and not for every
/// operation.
pub(super) async fn exists(plan: &Plan, gateway: &Gateway, wanted: &VerificationParameters) -> Result<(), String> {
    let place = Place { workspace: wanted.workspace.clone(), project: wanted.project.clone(), ..Place::default() };
    for (surface, named, flag) in
        [(Surface::Workspace, &place.workspace, "workspace"), (Surface::Project, &place.project, "project")]
    {
        let Some(named) = named else { continue };
        // Any read that succeeds for a caller who sees the workspace or the project.
        let known = |operation: &&Operation| {
            operation.surface == surface && !operation.method.writes() && !names_a_record(operation)
        };
        let paths = plan.operations.iter().filter(known).map(|operation| place.path(plan, operation));
        let Some(path) = paths.flatten().next() else { continue };
        let answer = gateway.get(&path).await?;
        if (answer.status, answer.code()) == (404, "resource_not_found") {
            return Err(format!("this key sees no {flag} {named}; check --{flag} and --key"));
        }
    }
    Ok(())
}

/// Most types that are tried to find one with properties.
const MOST_TYPES: usize = 20;

fn types_of(operation: &Operation) -> String {
    let surface: &str = operation.surface.into();
    format!("{surface}_work_item_types")
}

fn names_a_type(operation: &Operation) -> bool {
    operation.path.variables().any(|name| name == "type_id")
}

/// Checks whether an operation's path names a record.
pub(super) fn names_a_record(operation: &Operation) -> bool {
    operation.path.variables().any(|name| RECORDS.contains(&name))
}

fn absolute(path: &str) -> String {
    format!("/{}", path.trim_start_matches('/'))
}

fn human_key(row: &Value) -> Option<String> {
    let text = row["identifier"].as_str()?;
    match row["sequence_id"].as_u64() {
        Some(number) if !text.ends_with(&format!("-{number}")) => Some(format!("{text}-{number}")),
        _ => Some(text.to_owned()),
    }
}

/// Returns the path of v1's list of the projects of a workspace.
pub(super) fn projects(slug: &str) -> String {
    format!("/api/v1/workspaces/{slug}/projects/")
}

/// Returns the first project of the list, in v1's order, of which the key's owner is a member.
fn own_project(page: &Answer) -> Option<String> {
    let rows = page.json["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    let own = rows.iter().find(|row| row["is_member"] == true || row["member_role"].is_number());
    own.and_then(|row| row["id"].as_str()).map(str::to_owned)
}

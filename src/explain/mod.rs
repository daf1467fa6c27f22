//! What would happen to a request, told without sending anything.
//!
//! Everything is read off the same plan and the same checks that serve: the route, the ids of the path, the
//! query, where its filters are evaluated, and the calls of v1. A whole-set test holds the calls told here
//! against the calls really made.
//!
//! May use: `access` (the check of ids), `index` (what filters need), `plan`, `refusal`, `run::outlook`, `v2`.

mod calls;
mod query;
mod text;

pub use calls::ToldCall;
pub use query::{Part, Reading};
pub use text::{run_text, text};

use crate::access::gate;
use crate::plan::routes::{Found, Routes};
use crate::plan::{Operation, Plan, Resource, Source, Step, Surface, TypeMode};
use crate::refusal::Refusal;
use serde::Serialize;

/// A variable of the path.
#[derive(Debug, Serialize)]
pub struct Variable {
    /// Name.
    pub name: String,
    /// Value, as it is used.
    pub value: String,
}

/// Something the request would be refused for.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub struct Refused {
    /// Status of the answer.
    pub status: u16,
    /// Code of the problem.
    pub code: &'static str,
    /// Field of the request it is about.
    pub field: Option<String>,
    /// What is wrong.
    pub message: String,
}

/// The declared cost.
#[derive(Debug, Serialize)]
pub struct Cost {
    /// Calls with nothing kept.
    pub cold: u32,
    /// Calls with everything kept.
    pub warm: u32,
    /// Why, and when it is more.
    pub why: Option<String>,
}

/// What would happen to a request.
#[derive(Debug, Serialize)]
pub struct Explanation {
    /// Id of the operation.
    pub operation: String,
    /// What it does.
    pub summary: String,
    /// Method.
    pub method: &'static str,
    /// Its path with variables.
    pub path: String,
    /// File and line of the mapping.
    pub mapping: String,
    /// How it is carried out.
    pub step: String,
    /// Where its records live: `v1` or `own`.
    pub source: &'static str,
    /// Scopes of which any one opens it to a token.
    pub scopes: Vec<String>,
    /// Who may, beyond the scope.
    pub roles: &'static str,
    /// Mode of work item types a write needs.
    pub mode: Option<&'static str>,
    /// Variables of the path.
    pub variables: Vec<Variable>,
    /// Each part of the query, and where it is evaluated.
    pub query: Vec<Part>,
    /// What the request would be refused for; the rest is as far as it can be told then.
    pub refused: Vec<Refused>,
    /// Calls that prove access; made when not done lately with this credential.
    pub proofs: Vec<ToldCall>,
    /// Calls with nothing kept, proofs of access excluded.
    pub cold: Vec<ToldCall>,
    /// Calls with everything kept.
    pub warm: Vec<ToldCall>,
    /// Further calls this query or some states of v1 need.
    pub further: Vec<ToldCall>,
    /// What caches and the index can answer.
    pub kept: Vec<&'static str>,
    /// What the mapping declares.
    pub cost: Option<Cost>,
    /// Status of a success.
    pub success: u16,
}

/// Explains `method` on `target`, a path with or without a query, for a gateway that refuses unknown parameters
/// of lists if `strict`.
///
/// # Errors
/// A sentence for people when the request leads to no operation.
pub fn explain(plan: &Plan, strict: bool, method: &str, target: &str) -> Result<Explanation, String> {
    let method = method.to_ascii_uppercase();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (operation, mut variables) = find(plan, &method, path)?;
    let resource = plan.resource_of(operation);
    let mut refused = Vec::new();
    if let Err(refusal) = gate::check_ids(resource, &mut variables) {
        refused.extend(told(&refusal));
    }
    let reading = query::read(plan, operation, query, strict);
    refused.extend(reading.refusal.iter().flat_map(told));
    let paths = calls::Paths { plan, operation, variables: &variables };
    let (cold, warm) = paths.planned(&reading);
    Ok(Explanation {
        operation: operation.id.clone(),
        summary: operation.summary.clone(),
        method: operation.method.as_str(),
        path: operation.path.to_string(),
        mapping: format!("mappings/{}:{}", resource.file, operation.line),
        step: step(&operation.step),
        source: if resource.source == Source::V1 { "v1" } else { "own" },
        scopes: operation.scopes.clone(),
        roles: roles(operation),
        mode: operation.mode.map(|mode| if mode == TypeMode::Project { "project" } else { "workspace" }),
        proofs: paths.proofs(),
        cold,
        warm,
        further: paths.further(&reading),
        kept: kept(operation, resource),
        cost: operation.calls.as_ref().map(|calls| Cost {
            cold: calls.cold,
            warm: calls.warm,
            why: calls.why.clone(),
        }),
        success: operation.status,
        query: reading.parts,
        refused,
        variables: variables.into_iter().map(|(name, value)| Variable { name, value }).collect(),
    })
}

/// An operation and the variables of its path.
type Addressed<'p> = (&'p Operation, Vec<(String, String)>);

fn find<'p>(plan: &'p Plan, method: &str, path: &str) -> Result<Addressed<'p>, String> {
    let path = path_of(path);
    match Routes::new(plan).find(method, path) {
        Found::Operation { operation, variables } => Ok((&plan.operations[operation], variables)),
        Found::MissingSlash { right } => {
            Err(format!("{path} is answered with 404 resource_not_found: the path ends with a slash, {right}"))
        }
        Found::WrongMethod { allow } => Err(format!(
            "{method} {path} is answered with 405 method_not_allowed: the path knows {}",
            allow.join(", ")
        )),
        Found::Unknown if path.starts_with("/api/v1/") => {
            Err(format!("{path} belongs to v1: the gateway passes it on as it is, there is nothing to translate"))
        }
        Found::Unknown => Err(format!(
            "{path} is answered with 404 resource_not_found: no operation has this path; `causeway operations` \
             lists all"
        )),
    }
}

/// The path of an address that may have been given whole.
fn path_of(target: &str) -> &str {
    match target.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("/", |slash| &rest[slash..]),
        None => target,
    }
}

/// A refusal, one entry for each field.
fn told(refusal: &Refusal) -> Vec<Refused> {
    let one = |field: Option<String>, message: String| Refused {
        status: refusal.status(),
        code: refusal.code(),
        field,
        message,
    };
    match refusal {
        Refusal::Validation { errors, .. } if !errors.is_empty() => {
            errors.iter().map(|error| one(Some(error.field.clone()), error.message.clone())).collect()
        }
        Refusal::Validation { detail, .. } | Refusal::NotFound { detail } => vec![one(None, detail.clone())],
        Refusal::OrderingNotCursorEligible { ordering } => {
            vec![one(None, format!("cursor pagination is not possible with order_by={ordering}"))]
        }
        other => vec![one(None, other.code().replace('_', " "))],
    }
}

fn step(step: &Step) -> String {
    match step {
        Step::ReadCollection => "read_collection".into(),
        Step::ReadOne => "read_one".into(),
        Step::Create => "create".into(),
        Step::Update => "update".into(),
        Step::Delete => "delete".into(),
        Step::Special(name) => format!("special:{name}"),
        Step::Own(name) => format!("own:{name}"),
        Step::Pending => "pending".into(),
    }
}

fn roles(operation: &Operation) -> &'static str {
    match (operation.surface, operation.method.writes(), operation.guests_may_write) {
        (Surface::User, ..) => "anyone with a good credential",
        (Surface::Workspace, false, _) => "members of the workspace; an operation may ask for more (403)",
        (Surface::Workspace, true, _) => "members of the workspace, as far as the operation lets them (403)",
        (Surface::Project, false, _) => {
            "members of the project, guests too; others get 404, or 403 for a public one"
        }
        (Surface::Project, true, true) => "members of the project, guests too as far as the operation lets them",
        (Surface::Project, true, false) => "members and admins of the project; guests get 403, others 404 or 403",
    }
}

/// What can be answered without v1, with the settings that say for how long.
fn kept(operation: &Operation, resource: &Resource) -> Vec<&'static str> {
    const COLLECTIONS: &str = "collections of v1 read lately (setting cache.collection)";
    let mut kept = Vec::new();
    if operation.surface != Surface::User || resource.source == Source::V1 {
        kept.push("who the credential belongs to (setting cache.identity)");
    }
    if operation.surface != Surface::User {
        kept.push("what it may see, as cards of project and workspace (setting cache.card)");
    }
    match (&operation.step, resource.name.as_str()) {
        (Step::Special(name), _) if name == "work_items_list" => {
            kept.push("work items from the index, which is refreshed when older than index.freshness");
            kept.push(COLLECTIONS);
        }
        (_, "work_items" | "work_item_comments") => {
            kept.push("that an item lives, from a row of the index younger than index.freshness");
            kept.push(COLLECTIONS);
        }
        (Step::ReadCollection | Step::ReadOne | Step::Special(_), _) if resource.source == Source::V1 => {
            kept.push(COLLECTIONS);
        }
        (Step::Update, _) => kept.push("the record to change, from its collection (setting cache.collection)"),
        _ => {}
    }
    if resource.source == Source::Own {
        kept.push("the records themselves: they are in the gateway's own store (setting store.url)");
    }
    kept
}

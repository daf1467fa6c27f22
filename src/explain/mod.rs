//! What would happen to a request, told without sending anything.
//!
//! Everything is read off the same plan and the same checks that serve: the route, the ids of the path, the
//! query, where its filters are evaluated, and the calls of v1. A whole-set test holds the calls told here
//! against the calls really made.
//!
//! For a call of v1, `before` tells what replaces it in v2.
//!
//! May use: `access` (the check of ids), `edge::door` (what is refused before any route is looked for), `index` (what
//! filters need), `plan`, `refusal`, `run::outlook`, `v2`.

mod before;
mod calls;
mod explanation;
mod query;
mod text;

pub use before::{Lost, Replacement, Successor};
pub use calls::ToldCall;
pub(crate) use explanation::{Explanation, Refused, Variable};
pub(crate) use text::{before_text, run_text, text};

use crate::access::gate;
use crate::edge::door;
use crate::plan::routes::{Found, Routes};
use crate::plan::{Known, Operation, Plan, Resource, Source, Special, Step, Surface, TypeMode};
use crate::refusal::Refusal;
use crate::run::outlook;

/// Explains `method` on `target`, a path with or without a query, for a gateway that refuses unknown parameters
/// of lists if `strict`. A `body` is judged as far as that needs nothing that is stored.
pub fn explain(
    plan: &Plan,
    strict: bool,
    method: &str,
    target: &str,
    body: Option<&[u8]>,
) -> Result<Explanation, String> {
    let target = path_of(target);
    admitted(method, target)?;
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (operation, mut variables) = find(plan, method, path)?;
    let resource = plan.resource_of(operation);
    let mut refused = Vec::new();
    if let Err(refusal) = gate::check_ids(resource, &mut variables) {
        refused.extend(told(&refusal));
    }
    let reading = query::read(plan, operation, query, strict);
    refused.extend(reading.refusal.iter().flat_map(told));
    let judged = body.map(|body| outlook::judged_body(resource, operation, body)).unwrap_or_default();
    refused.extend(judged.refusal.iter().flat_map(told));
    let paths = calls::Paths { plan, operation, variables: &variables };
    let (cold, warm) = paths.planned(&reading);
    Ok(Explanation {
        operation: operation.id.clone(),
        summary: operation.summary.clone(),
        method: operation.method.as_str(),
        path: operation.path.to_string(),
        mapping: format!("mappings/{}:{}", resource.file, operation.line),
        step: operation.step.word(),
        source: if resource.source == Source::V1 { "v1" } else { "own" },
        scopes: operation.scopes.clone(),
        roles: roles(operation),
        mode: operation.mode.map(|mode| if mode == TypeMode::Project { "project" } else { "workspace" }),
        proofs: paths.proofs(),
        cold,
        warm,
        further: paths.further(&reading),
        kept: kept(operation, resource),
        cost: operation.calls.clone(),
        success: operation.status,
        query: reading.parts,
        refused,
        ignored: judged.ignored,
        variables: variables.into_iter().map(|(name, value)| Variable { name, value }).collect(),
    })
}

/// What replaces `method` on `target`, a call of v1 with this JSON body; none when it is no call of v1.
pub fn replacement(
    plan: &Plan,
    method: &str,
    target: &str,
    body: Option<&serde_json::Value>,
) -> Result<Option<Replacement>, String> {
    let target = path_of(target);
    let is_v1 = target.starts_with("/api/v1/") || target == "/api/v1";
    if !is_v1 {
        return Ok(None);
    }
    admitted(method, target)?;
    before::replace(plan, method, target, body).map(Some)
}

/// The gateway refuses what could be read in two ways before it looks for a route, and so does this.
fn admitted(method: &str, target: &str) -> Result<(), String> {
    // No client can send a path without its slash; which one was meant is told where none is found.
    let refusal = if target.starts_with('/') { door::admit_line(method, target).err() } else { None };
    let Some(refusal) = refusal else { return Ok(()) };
    let messages: Vec<String> = told(&refusal).into_iter().map(|refused| refused.message).collect();
    let (status, code, messages) = (refusal.status(), refusal.code(), messages.join(" "));
    Err(format!("{method} {target} is answered with {status} {code}: {messages}"))
}

/// An operation and the variables of its path.
type Addressed<'p> = (&'p Operation, Vec<(String, String)>);

fn find<'p>(plan: &'p Plan, method: &str, path: &str) -> Result<Addressed<'p>, String> {
    let routes = Routes::new(plan);
    match routes.find(method, path) {
        Found::Operation { operation, variables } => Ok((&plan.operations[operation], variables)),
        Found::MissingSlash { right } => {
            Err(format!("{path} is answered with 404 resource_not_found: the path ends with a slash, {right}"))
        }
        Found::WrongMethod { allow } => Err(format!(
            "{method} {path} is answered with 405 method_not_allowed: the path knows {}",
            allow.join(", ")
        )),
        Found::Unknown => Err(format!(
            "{path} is answered with 404 resource_not_found: no operation has this path. {} \
             `causeway operations` lists all",
            routes.no_such_path(path)
        )),
    }
}

/// The path of an address that may have been given whole.
pub fn path_of(target: &str) -> &str {
    match target.split_once("://") {
        Some((scheme, rest)) if !scheme.contains(['/', '?']) => rest.find('/').map_or("/", |slash| &rest[slash..]),
        _ => target,
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
    match (&operation.step, resource.is(Known::WorkItems) || resource.requires.is_some()) {
        (Step::Special(Special::WorkItemsList), _) => {
            kept.push("work items from the index, which is refreshed when older than index.freshness");
            kept.push(COLLECTIONS);
        }
        (_, true) => {
            kept.push("that an item lives, from a row of the index younger than index.freshness");
            kept.push(COLLECTIONS);
        }
        (Step::ReadCollection | Step::ReadOne | Step::Special(_), _) if resource.source == Source::V1 => {
            kept.push(COLLECTIONS);
        }
        (Step::Update, _) if resource.source == Source::V1 => {
            kept.push("the record to change, from its collection (setting cache.collection)")
        }
        _ => {}
    }
    if resource.source == Source::Own {
        kept.push("the records themselves: they are in the gateway's own store (setting store.url)");
    }
    kept
}

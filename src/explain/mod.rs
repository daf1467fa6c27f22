//! Explanation of how a request would be handled, without sending anything.
//!
//! Everything comes from the plan and the checks that also serve requests: the route, the ids of the path, the
//! query, where its filters are evaluated, and the v1 calls. A whole-set test compares the explained calls
//! with the calls really made.
//!
//! For a v1 call, `before` tells what replaces it in v2.
//!
//! May use: `access` (the check of ids), `edge::door` (what is refused before any route is looked for), `index` (what
//! filters need), `plan`, `refusal`, `run::outlook`, `v2`.

mod before;
mod calls;
mod explanation;
mod kept;
mod place;
mod query;
mod text;

pub use before::{NoEquivalent, Replacement, Successor};
pub use calls::ToldCall;
pub(crate) use explanation::{Explanation, Variable};
pub use place::path_of;
pub(crate) use text::{before_text, run_text, text};

use explanation::told;
use kept::{kept, roles};
use place::{admitted, find};

use crate::access::gate;
use crate::plan::{Plan, TypeMode};
use crate::run::outlook;

/// Explains `method` on `target`, a path with or without a query. `strict` means that the gateway rejects unknown
/// parameters of lists. A `body` is checked as far as possible without stored data.
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
        source: resource.source.as_str(),
        scopes: operation.scopes.clone(),
        roles: roles(operation),
        mode: operation.mode.map(TypeMode::as_str),
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

/// Returns the replacement of `method` on `target`, a v1 call with this JSON body; `None` when it is no v1 call.
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

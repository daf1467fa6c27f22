//! The operation that a method and a path lead to. May use: `edge::door` (what is refused before any route is looked
//! for), `plan`, this folder.

use super::explanation::told;
use crate::edge::door;
use crate::plan::routes::{RouteMatch, Routes};
use crate::plan::{Operation, Plan};

/// Fails for a request line that the gateway rejects as ambiguous before it looks for a route.
pub(super) fn admitted(method: &str, target: &str) -> Result<(), String> {
    // No client can send a path without its leading slash. For such a path, `find` names the intended path.
    let refusal = if target.starts_with('/') { door::admit_line(method, target).err() } else { None };
    let Some(refusal) = refusal else { return Ok(()) };
    let messages: Vec<String> = told(&refusal).into_iter().map(|refused| refused.message).collect();
    let (status, code, messages) = (refusal.status(), refusal.code(), messages.join(" "));
    Err(format!("{method} {target} is answered with {status} {code}: {messages}"))
}

/// An operation and the variables of its path.
pub(super) type Addressed<'p> = (&'p Operation, Vec<(String, String)>);

pub(super) fn find<'p>(plan: &'p Plan, method: &str, path: &str) -> Result<Addressed<'p>, String> {
    let routes = Routes::new(plan);
    match routes.find(method, path) {
        RouteMatch::Operation { operation, variables } => Ok((&plan.operations[operation], variables)),
        RouteMatch::MissingSlash { right } => {
            Err(format!("{path} is answered with 404 resource_not_found: the path ends with a slash, {right}"))
        }
        RouteMatch::WrongMethod { allow } => Err(format!(
            "{method} {path} is answered with 405 method_not_allowed: the path knows {}",
            allow.join(", ")
        )),
        RouteMatch::Unknown => Err(format!(
            "{path} is answered with 404 resource_not_found: no operation has this path. {} \
             `causeway operations` lists all",
            routes.no_such_path(path)
        )),
    }
}

/// Returns the path of `target`, which may be a complete address.
pub fn path_of(target: &str) -> &str {
    match target.split_once("://") {
        Some((scheme, rest)) if !scheme.contains(['/', '?']) => rest.find('/').map_or("/", |slash| &rest[slash..]),
        _ => target,
    }
}

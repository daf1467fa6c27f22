//! The replacement of a v1 call: the v2 request with the same meaning, the changed names, and the parts without an
//! equivalent.
//!
//! Everything comes from the table of v1's operations and the mappings. Nothing is sent. A part that v2 has no place
//! for is reported and left out of the request, never guessed.
//!
//! May use: `plan`, `v2`.

mod body;
mod query;
mod request;
mod told;

pub use told::{NoEquivalent, Replacement, Successor};

use crate::plan::{Plan, V1RouteMatch};
use request::Call;
use serde_json::Value;

/// Finds the replacement of `method` on `target` (from `/api/v1/` on, with or without a query) with this body.
pub fn replace(plan: &Plan, method: &str, target: &str, body: Option<&Value>) -> Result<Replacement, String> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (row, missing_slash) = match plan.v1.find(method, path) {
        V1RouteMatch::Operation { operation, missing_slash } => (operation, missing_slash),
        V1RouteMatch::NoMethod => {
            let reason =
                format!("v1 has no {method} here and answers 405; it has {}.", plan.v1.methods(path).join(", "));
            return Ok(Replacement::unknown(plan.v1.guess(method, path), "a method v1 lacks", reason));
        }
        V1RouteMatch::Unknown => {
            let reason = "No public path of v1 that is known here; the gateway passes it on as it is.".to_owned();
            return Ok(Replacement::unknown(plan.v1.guess(method, path), "not known", reason));
        }
    };
    let call = Call {
        plan,
        row: &plan.v1.all()[row],
        variables: plan.v1.variables(row, path),
        query: form_urlencoded::parse(query.as_bytes()).into_owned().collect(),
    };
    let mut told = call.told(body)?;
    if missing_slash {
        told.changes.push("Without the slash at its end v1 only redirects; v2 answers 404.".into());
    }
    Ok(told)
}

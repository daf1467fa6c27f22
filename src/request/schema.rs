//! `GET /api/v2/schema/`: the OpenAPI document, which is not an operation of the plan.
//!
//! Any valid credential is accepted: no scope is specified (O4). JSON, or YAML when `Accept` prefers it.
//!
//! May use: `describe`, `edge` (addresses, versions, weights), `refusal`, `v2::Reply`.

use crate::describe::openapi::{Document, Format};
use crate::edge::{PublicBase, known_versions, weight};
use crate::refusal::Refusal;
use crate::v2::Reply;
use http::header::ACCEPT;
use http::request::Parts;

/// Path of the document.
pub(crate) const PATH: &str = "/api/v2/schema/";
const YAML: [&str; 4] = ["application/yaml", "application/x-yaml", "text/yaml", "application/openapi+yaml"];
const JSON: [&str; 2] = ["application/json", "application/openapi+json"];

/// Answers a request whose credential is already proven.
pub(super) fn answer(document: &Document, head: &Parts) -> Result<Reply, Refusal> {
    if !["GET", "HEAD"].contains(&head.method.as_str()) {
        return Err(Refusal::MethodNotAllowed { allow: vec!["GET", "HEAD"] });
    }
    let base = head.extensions.get::<PublicBase>().ok_or_else(|| Refusal::internal("no public address"))?.as_str();
    let accept: Vec<&str> = head.headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
    let format = if prefers_yaml(&accept.join(",")) { Format::Yaml } else { Format::Json };
    let tag = document.tag(format, base);
    if known_versions(&head.headers).is_some_and(|known| known.has(&tag)) {
        return Ok(Reply { fixed: true, ..Reply::not_modified(tag) });
    }
    let media = match format {
        Format::Json => "application/json",
        Format::Yaml => "application/yaml",
    };
    Ok(Reply::document(document.bytes(format, base), media, tag))
}

/// Checks whether YAML is named, with at least the weight of JSON; wildcards mean JSON.
fn prefers_yaml(accept: &str) -> bool {
    let highest = |names: &[&str]| {
        let ranges = accept.split(',').filter_map(|range| {
            let mut parts = range.split(';').map(str::trim);
            let name = parts.next()?.to_ascii_lowercase();
            names.contains(&name.as_str()).then(|| weight(parts))
        });
        ranges.fold(0.0, f32::max)
    };
    highest(&YAML) > 0.0 && highest(&YAML) >= highest(&JSON)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_has_to_be_asked_for() {
        for accept in
            ["", "*/*", "application/json", "application/json, application/yaml;q=0.5", "application/yaml;q=0"]
        {
            assert!(!prefers_yaml(accept), "{accept}");
        }
        for accept in ["application/yaml", "text/yaml, */*", "application/json;q=0.2, Application/YAML;q=0.9"] {
            assert!(prefers_yaml(accept), "{accept}");
        }
    }
}

//! The document as a whole: its text about the API, and the places of its parts. May use: `plan`, this folder.

use super::{examples, headers, operations, parameters, problems, schemas, security};
use crate::plan::Plan;
use crate::plan::Resource;
use operations::tag_name;
use security::STAND_IN;
use serde_json::{Map, Value, json};

pub(super) fn document(plan: &Plan) -> Value {
    json!({
        "openapi": "3.1.0",
        "info": info(plan),
        "servers": [{ "url": STAND_IN, "description": "this gateway" }],
        "security": [{ security::API_KEY: [] }],
        "tags": plan.resources.iter().map(tag).collect::<Vec<_>>(),
        "paths": operations::paths(plan),
        "components": {
            "securitySchemes": security::schemes(),
            "parameters": parameters::components(plan),
            "headers": headers::components(),
            "responses": problems::components(plan),
            "examples": examples::problems(),
            "schemas": schemas::components(plan),
        },
    })
}

fn info(plan: &Plan) -> Value {
    let working = plan.operations.iter().filter(|operation| operation.works()).count();
    json!({
        "title": "Work tracking API",
        "version": "2",
        "summary": "REST API v2, served by Causeway in front of a deployment that speaks v1.",
        "description": format!(
            "{} operations, {working} of which work in this version; `x-causeway-support` marks which. Every path ends \
             with a slash. PATCH changes only the members that are sent; `null` clears a nullable field. Failures are \
             `application/problem+json`: branch on `code`, and expect new codes and new enumeration values. \
             `x-causeway-v1-calls` is the number of calls to v1 that an operation takes, with empty caches (`cold`) \
             and with full caches (`warm`), proofs of access excluded. The header `Causeway-V1-Calls` of every answer \
             has the number of calls that this answer took. Answers to a valid credential with a limit have \
             `RateLimit`, `RateLimit-Policy` and the older `X-RateLimit-*`, refusals included.",
            plan.operations.len()
        ),
        "license": { "name": "Apache-2.0 OR MIT" },
        "x-causeway-version": env!("CARGO_PKG_VERSION"),
    })
}

fn tag(resource: &Resource) -> Value {
    let mut tag = Map::new();
    tag.insert("name".into(), tag_name(&resource.name).into());
    tag.insert("description".into(), resource.about.as_str().into());
    if !resource.gaps.is_empty() {
        tag.insert("x-causeway-known-gaps".into(), json!(resource.gaps));
    }
    tag.into()
}

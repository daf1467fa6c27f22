//! The OpenAPI 3.1 document, made from the plan alone.
//!
//! Purpose: everything that a client may rely on is read off the mappings, so that the document cannot differ from what
//! is routed, checked and answered. The parameter `expand` and the body member `custom_fields` are left out, as the
//! contract says, although both work.
//!
//! The document is written once, with a stand-in where the address of the gateway goes; an answer only
//! puts the address of its request in.
//!
//! May use: `plan`.

mod bodies;
mod examples;
mod operations;
mod parameters;
mod responses;
mod safe_writes;
mod schemas;
mod security;

use crate::plan::Plan;
use operations::tag_name;
use security::STAND_IN;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::sync::{Arc, OnceLock};

/// A form of the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON.
    Json,
    /// YAML 1.2.
    Yaml,
}

/// The document in every form, for any address. It is written when somebody asks for it first, so that the start does
/// not wait for it.
#[derive(Debug)]
pub struct Document {
    plan: Arc<Plan>,
    json: OnceLock<Written>,
    yaml: OnceLock<String>,
}

/// The JSON form, and what identifies it.
#[derive(Debug)]
struct Written {
    text: String,
    digest: String,
}

impl Document {
    /// The document of a plan.
    pub fn new(plan: Arc<Plan>) -> Self {
        Self { plan, json: OnceLock::new(), yaml: OnceLock::new() }
    }

    fn json(&self) -> &Written {
        self.json.get_or_init(|| {
            let text = format!("{:#}\n", document(&self.plan));
            Written { digest: short(&Sha256::digest(text.as_bytes())), text }
        })
    }

    /// The text for a gateway at `base` (without a trailing slash).
    pub fn text(&self, format: Format, base: &str) -> String {
        let yaml = || serde_saphyr::to_string(&document(&self.plan)).expect("JSON can always be written as YAML");
        let text = match format {
            Format::Json => &self.json().text,
            Format::Yaml => self.yaml.get_or_init(yaml),
        };
        text.replace(STAND_IN, base)
    }

    /// A validator of the text, for caches: another text has another one.
    pub fn tag(&self, format: Format, base: &str) -> String {
        let form = match format {
            Format::Json => "json",
            Format::Yaml => "yaml",
        };
        format!("\"{}-{}-{form}\"", self.json().digest, short(&Sha256::digest(base.as_bytes())))
    }
}

fn short(digest: &[u8]) -> String {
    hex::encode(&digest[..8])
}

fn document(plan: &Plan) -> Value {
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
            "headers": responses::headers(),
            "responses": responses::components(plan),
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
            "{} operations, {working} of which work in this version; `x-causeway-support` of each says which. Every \
             path ends with a slash. PATCH changes only what is sent; `null` clears a nullable field. Failures are \
             `application/problem+json`: branch on `code`, and expect codes and enumeration values that are new. \
             `x-causeway-v1-calls` says how many calls to v1 an operation takes, with nothing kept (`cold`) and with \
             everything kept (`warm`), proofs of access excluded; every answer tells what it took in the header \
             `Causeway-V1-Calls`.",
            plan.operations.len()
        ),
        "license": { "name": "Apache-2.0 OR MIT" },
        "x-causeway-version": env!("CARGO_PKG_VERSION"),
    })
}

fn tag(resource: &crate::plan::Resource) -> Value {
    let mut tag = Map::new();
    tag.insert("name".into(), tag_name(&resource.name).into());
    tag.insert("description".into(), resource.about.as_str().into());
    if !resource.gaps.is_empty() {
        tag.insert("x-causeway-known-gaps".into(), json!(resource.gaps));
    }
    tag.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tags_are_for_people() {
        assert_eq!(tag_name("work_item_comments"), "Work item comments");
    }
}

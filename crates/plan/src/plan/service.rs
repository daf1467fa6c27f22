//! The plan itself: resources, operations and shapes, and how to find one of them. May use: `mapping`, this folder.

use super::known::Known;
use super::legacy::V1Operations;
use super::operation::Operation;
use super::resource::Resource;
use crate::mapping::{Answer, Method};
use indexmap::IndexMap;
use serde_json::{Map, Value};

/// The whole service as the mappings declare it.
#[derive(Debug)]
pub struct Plan {
    /// Resources in file order.
    pub resources: Vec<Resource>,
    /// Operations in file order.
    pub operations: Vec<Operation>,
    /// Read shapes, and the shapes of their parts, by name.
    pub shapes: IndexMap<String, Shape>,
    /// The public operations of v1, with the v2 operations that replace them.
    pub v1: V1Operations,
}

/// A read shape: the form of a record, or of a part of it, in an answer. A named JSON Schema (2020-12).
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// The schema; references are `#/components/schemas/<name>`.
    pub schema: Value,
    /// Refinements, by member, of the schemas of body members of the resource with this shape.
    pub inputs: Map<String, Value>,
}

impl Plan {
    /// Returns the operation with the id `id`.
    pub fn operation(&self, id: &str) -> Option<&Operation> {
        self.operations.iter().find(|operation| operation.id == id)
    }

    /// Returns the resource that an operation belongs to.
    pub fn resource_of(&self, operation: &Operation) -> &Resource {
        &self.resources[operation.resource]
    }

    /// Returns the index of the operation that shows the record which `operation` writes to; `None` when its path
    /// names no single record.
    pub fn showing(&self, operation: &Operation) -> Option<usize> {
        let path = operation.path.as_str();
        let shown = match operation.method {
            Method::Get => return None,
            Method::Patch | Method::Delete => path,
            // The path of a verb is the path of its record, followed by the verb.
            Method::Post => {
                let record = path.trim_end_matches('/').rsplit_once('/')?.0;
                record.ends_with('}').then(|| &path[..=record.len()])?
            }
        };
        let shows = |known: &Operation| {
            known.method == Method::Get && known.answer == Answer::Record && known.path.as_str() == shown
        };
        self.operations.iter().position(shows)
    }

    /// Returns the list of a resource that the program knows by name.
    pub fn list_of(&self, known: Known) -> Option<&Operation> {
        self.operations.iter().find(|operation| operation.is_list() && self.resource_of(operation).is(known))
    }

    /// Returns a resource that the program knows by name.
    pub fn known(&self, known: Known) -> Option<&Resource> {
        self.resources.iter().find(|resource| resource.is(known))
    }

    /// Returns the resource called `name`.
    pub fn resource(&self, name: &str) -> Option<&Resource> {
        self.resources.iter().find(|resource| resource.name == name)
    }
}

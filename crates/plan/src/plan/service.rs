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
    /// Read shapes and what they are made of, by name.
    pub shapes: IndexMap<String, Shape>,
    /// The public operations of v1, and what replaces each.
    pub v1: V1Operations,
}

/// A read shape: what a record, or a part of one, looks like in an answer. A named JSON Schema (2020-12).
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// The schema; references are `#/components/schemas/<name>`.
    pub schema: Value,
    /// What is laid over the schemas of body members of the resource with this shape, by member.
    pub inputs: Map<String, Value>,
}

impl Plan {
    /// The operation with `id`.
    pub fn operation(&self, id: &str) -> Option<&Operation> {
        self.operations.iter().find(|operation| operation.id == id)
    }

    /// The resource an operation belongs to.
    pub fn resource_of(&self, operation: &Operation) -> &Resource {
        &self.resources[operation.resource]
    }

    /// Index of the operation that shows the record which `operation` writes to; none when it is addressed to no
    /// single record.
    pub fn showing(&self, operation: &Operation) -> Option<usize> {
        let path = operation.path.as_str();
        let shown = match operation.method {
            Method::Get => return None,
            Method::Patch | Method::Delete => path,
            // A verb stands behind the path of its record.
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

    /// The list of a resource that the program knows by name.
    pub fn list_of(&self, known: Known) -> Option<&Operation> {
        self.operations.iter().find(|operation| operation.is_list() && self.resource_of(operation).is(known))
    }

    /// A resource that the program knows by name.
    pub fn known(&self, known: Known) -> Option<&Resource> {
        self.resources.iter().find(|resource| resource.is(known))
    }

    /// The resource called `name`.
    pub fn resource(&self, name: &str) -> Option<&Resource> {
        self.resources.iter().find(|resource| resource.name == name)
    }
}

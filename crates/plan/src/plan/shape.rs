//! One read shape: what a record, or a part of one, looks like in an answer. May use: nothing of this crate.

use serde_json::{Map, Value};

/// A named JSON Schema (2020-12).
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// The schema; references are `#/components/schemas/<name>`.
    pub schema: Value,
    /// What is laid over the schemas of body members of the resource with this shape, by member.
    pub inputs: Map<String, Value>,
}

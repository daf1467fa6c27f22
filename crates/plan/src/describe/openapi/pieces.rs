//! Small pieces of schemas that several parts of the document are made of.
//!
//! May use: nothing of the crate.

use serde_json::{Value, json};

/// A reference to a schema.
pub(super) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

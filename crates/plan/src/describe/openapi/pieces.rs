//! Small pieces of schemas that several parts of the document are made of.
//!
//! May use: `plan`.

use crate::plan::Kind;
use serde_json::{Map, Value, json};

/// A reference to a schema.
pub(super) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// The schema of a single value of a kind.
pub(super) fn of_kind(kind: Kind) -> Map<String, Value> {
    let mut schema = Map::new();
    if kind != Kind::Any {
        schema.insert("type".into(), kind.contract_type().into());
    }
    if let Some(format) = kind.contract_format() {
        schema.insert("format".into(), format.into());
    }
    schema
}

/// Lets a schema take null as well.
pub(super) fn admit_null(schema: &mut Map<String, Value>) {
    if let Some(kind) = schema.get_mut("type") {
        *kind = json!([kind.take(), "null"]);
    }
    if let Some(Value::Array(allowed)) = schema.get_mut("enum") {
        allowed.push(Value::Null);
    }
}

//! JSON Schema of the values that the plan knows, for read shapes and for the documents about the plan. May use: this
//! folder.

use super::kind::{Kind, ValueType};
use serde_json::{Map, Value, json};

/// Returns the schema of a single value of a kind.
pub fn of_kind(kind: Kind) -> Map<String, Value> {
    let mut schema = Map::new();
    if kind != Kind::Any {
        schema.insert("type".into(), kind.contract_type().into());
    }
    if let Some(format) = kind.contract_format() {
        schema.insert("format".into(), format.into());
    }
    schema
}

/// Returns the schema of a field or a body member.
pub fn of_value(value: ValueType) -> Map<String, Value> {
    match value {
        ValueType::Array(items) => {
            let items = items.map_or_else(Map::new, of_kind);
            Map::from_iter([("type".to_owned(), json!("array")), ("items".to_owned(), items.into())])
        }
        ValueType::One(kind) | ValueType::Csv(kind) => of_kind(kind),
    }
}

/// Lets a schema take null as well.
pub fn admit_null(schema: &mut Map<String, Value>) {
    if let Some(kind) = schema.get_mut("type") {
        *kind = json!([kind.take(), "null"]);
    }
    if let Some(Value::Array(allowed)) = schema.get_mut("enum") {
        allowed.push(Value::Null);
    }
}

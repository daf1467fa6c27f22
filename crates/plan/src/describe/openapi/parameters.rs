//! Path and query parameters, as strict as the service is and no stricter.
//!
//! A parameter with comma-separated elements is a string here: generators write arrays as repeated
//! parameters by default, and repeated parameters are not merged. `order_by` and `paginate` have no
//! enumeration, because an unknown value is no error.
//!
//! May use: `plan`.

use crate::plan::{Kind, Operation, Order, Param, ParamRole, Plan, Segment, ValueType, schema};
use serde_json::{Map, Value, json};

/// Returns the parameters that every list takes, and the headers of safe writes, by name.
pub(super) fn components(plan: &Plan) -> Value {
    let list = plan.operations.iter().find(|operation| operation.is_list());
    let paging = list.into_iter().flat_map(|list| list.params.iter().filter(|param| is_shared(param)));
    let paging = paging.map(|param| (param.name.clone(), query(param, None)));
    paging.chain(super::safe_writes::components()).collect::<Map<_, _>>().into()
}

/// Returns the parameters of an operation.
pub(super) fn of(plan: &Plan, operation: &Operation) -> Vec<Value> {
    let path = operation.path.segments().iter().filter_map(|segment| match segment {
        Segment::Variable(name) => Some(path(name)),
        Segment::Literal(_) => None,
    });
    let described = operation.params.iter().filter(|param| param.role != ParamRole::Expand);
    let query = described.map(|param| match is_shared(param) {
        true => json!({ "$ref": format!("#/components/parameters/{}", param.name) }),
        false => self::query(param, operation.order.as_ref()),
    });
    path.chain(query).chain(super::safe_writes::parameters(plan, operation)).collect()
}

fn is_shared(param: &Param) -> bool {
    param.role == ParamRole::Paging
}

fn path(name: &str) -> Value {
    let (schema, description) = match name {
        "slug" => (json!({ "type": "string", "minLength": 1 }), "slug of the workspace".to_owned()),
        "identifier" => (
            json!({ "type": "string", "minLength": 1 }),
            "human key: project identifier, hyphen, number, such as `ACME-7`; the letters in any case".to_owned(),
        ),
        "pk" => (uuid(), "id of the record".to_owned()),
        other => (uuid(), format!("id of the {}", other.trim_end_matches("_id").replace('_', " "))),
    };
    json!({ "name": name, "in": "path", "required": true, "description": description, "schema": schema })
}

fn uuid() -> Value {
    json!({ "type": "string", "format": "uuid" })
}

fn query(param: &Param, order: Option<&Order>) -> Value {
    let mut object = Map::new();
    object.insert("name".into(), param.name.as_str().into());
    object.insert("in".into(), "query".into());
    object.insert("description".into(), description(param, order).into());
    object.insert("schema".into(), schema(param).into());
    if let ValueType::Csv(kind) = param.value {
        object.insert("x-causeway-elements".into(), elements(kind, &param.spec.allowed).into());
    }
    object.into()
}

fn description(param: &Param, order: Option<&Order>) -> String {
    let mut text = param.spec.notes.clone();
    let mut say = |sentence: String| {
        if !text.is_empty() {
            text.push_str("; ");
        }
        text.push_str(&sentence);
    };
    if matches!(param.value, ValueType::Csv(_)) {
        let among = if param.spec.allowed.is_empty() {
            String::new()
        } else {
            format!(", each one of {}", ticked(&param.spec.allowed))
        };
        say(format!("one value with elements separated by commas{among}"));
    }
    if let (ParamRole::OrderBy, Some(order)) = (&param.role, order) {
        say(format!(
            "one of {}, with a leading `-` for descending order; default `{}`; cursors work only with {}",
            ticked(&order.allowed),
            order.default,
            ticked(&order.cursor)
        ));
    }
    text
}

fn ticked(values: &[String]) -> String {
    values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ")
}

fn schema(param: &Param) -> Map<String, Value> {
    let mut schema = match param.value {
        ValueType::Csv(_) | ValueType::Array(_) => Map::from_iter([("type".to_owned(), json!("string"))]),
        ValueType::One(kind) => schema::of_kind(kind),
    };
    let tolerant = matches!(param.role, ParamRole::OrderBy | ParamRole::Paging);
    if !param.spec.allowed.is_empty() && !tolerant && matches!(param.value, ValueType::One(_)) {
        schema.insert("enum".into(), json!(param.spec.allowed));
    }
    if let Some(default) = &param.spec.default {
        schema.insert("default".into(), default.clone());
    }
    if param.value == ValueType::One(Kind::Boolean) && param.role == ParamRole::Paging {
        // Every value that does not mean false counts as true.
        schema.insert("type".into(), json!(["boolean", "string"]));
    }
    if param.value == ValueType::One(Kind::Integer) && param.role == ParamRole::Paging {
        schema.insert("minimum".into(), if param.name == "per_page" { 1 } else { 0 }.into());
        // A page size above the maximum is reduced to it; an offset above the maximum is refused.
        if let Some(max) = param.spec.max.filter(|_| param.name == "offset") {
            schema.insert("maximum".into(), max.into());
        }
    }
    schema
}

fn elements(kind: Kind, allowed: &[String]) -> Map<String, Value> {
    let mut schema = schema::of_kind(kind);
    if !allowed.is_empty() {
        schema.insert("enum".into(), json!(allowed));
    }
    schema
}

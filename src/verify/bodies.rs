//! Bodies for writes: one that must be refused, and the smallest that has an effect. May use: `plan`, this folder.

use super::place::Place;
use crate::plan::{BodyRule, Input, Kind, Operation, OwnRecords, Resource, ValueType};
use serde_json::{Map, Value, json};

/// Members that make a change visible; the first one that an operation accepts is used.
const CHANGED: [&str; 4] = ["name", "display_name", "comment_html", "description"];

/// Returns a body with a wrong value in the first member that can have one.
pub(super) fn wrong(members: &[Input]) -> Option<Value> {
    let wrong = |input: &Input| match input.value {
        ValueType::One(Kind::Any) => None,
        ValueType::One(Kind::String | Kind::Uuid | Kind::Email | Kind::Date | Kind::DateTime) => Some(json!(5)),
        _ => Some(json!("wrong")),
    };
    members.iter().find_map(|input| Some(json!({ input.name.as_str(): wrong(input)? })))
}

/// Returns a body for a success; none when the operation takes no body.
pub(super) fn right(place: &Place, operation: &Operation, resource: &Resource) -> Option<Value> {
    let BodyRule::Members(members) = &operation.body else { return None };
    let name = format!("causeway verify {}", &uuid::Uuid::new_v4().simple().to_string()[..12]);
    let project = place.project.clone().unwrap_or_default();
    if resource.records == Some(OwnRecords::Contexts) {
        let scope = json!({ "project_ids": [project] });
        let new = json!({ "name": name, "project_ids": [project], "applies_to_all_work_item_types": true });
        return Some(if operation.path.variables().any(|known| known == "pk") { scope } else { new });
    }
    let mut body = Map::new();
    for input in members.iter().filter(|input| input.spec.required) {
        body.insert(input.name.clone(), required(place, operation, &input.name, &name));
    }
    if body.contains_key("property_type") {
        body.insert("options".into(), json!([{ "name": "one" }]));
    }
    if body.is_empty()
        && let Some(changed) = CHANGED.iter().find(|known| members.iter().any(|input| input.name == **known))
    {
        body.insert((*changed).to_owned(), name.into());
    }
    Some(body.into())
}

fn required(place: &Place, operation: &Operation, member: &str, name: &str) -> Value {
    let surface: &str = operation.surface.into();
    let record = |resource: &str| place.records.get(resource).cloned().unwrap_or_default();
    match member {
        "color" => json!("#445566"),
        "comment_html" => json!(format!("<p>{name}</p>")),
        "property_type" => json!("OPTION"),
        "properties" => json!([record(&format!("{surface}_work_item_properties"))]),
        "work_item_types" => json!([record("workspace_work_item_types")]),
        _ => name.into(),
    }
}

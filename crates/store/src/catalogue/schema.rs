//! The schema of a type: the fields that a work item of the type accepts in a project (14.2). May use: this folder.

use super::model::{Catalogue, PropertyType, RelationType};
use super::resolution::Applicable;
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// Data of the project that only v1 has.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// Every state, as `{id, name, color, group}`.
    pub states: Vec<Value>,
    /// People as `{id, display_name, email}`, when they are to be listed.
    pub members: Option<Vec<Value>>,
    /// Labels as `{id, name, color}`, when they are to be listed.
    pub labels: Option<Vec<Value>>,
    /// Whether the project has an estimate system.
    pub has_estimate: bool,
}

const PRIORITIES: [(&str, &str); 5] =
    [("urgent", "Urgent"), ("high", "High"), ("medium", "Medium"), ("low", "Low"), ("none", "None")];

impl Catalogue {
    /// Returns the schema of a type in a project; `None` when the type is not available there.
    pub fn schema(&self, project: Uuid, type_id: Uuid, around: &Surroundings) -> Option<Map<String, Value>> {
        let kind = self.type_on_project(project, type_id)?;
        let custom: Map<String, Value> = self
            .applicable(project, type_id)
            .iter()
            .map(|applicable| (applicable.property.name.clone(), custom_field(applicable, around)))
            .collect();
        let members = [
            ("type_id", json!(kind.id)),
            ("type_name", json!(kind.name)),
            ("type_description", json!(kind.description)),
            ("type_logo_props", kind.logo_props.clone()),
            ("fields", standard_fields(around)),
            ("custom_fields", Value::Object(custom)),
        ];
        Some(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

fn standard_fields(around: &Surroundings) -> Value {
    let priorities: Vec<Value> =
        PRIORITIES.iter().map(|(value, label)| json!({ "value": value, "label": label })).collect();
    let date = json!({ "type": "date", "required": false, "format": "YYYY-MM-DD" });
    let id = json!({ "type": "uuid", "required": false });
    let ids = |options: &Option<Vec<Value>>| {
        let mut field = json!({ "type": "uuid", "required": false, "is_multi": true });
        if let Some(options) = options {
            field["options"] = json!(options);
        }
        field
    };
    let mut fields = json!({
        "name": { "type": "string", "required": true, "max_length": 255 },
        "description_html": { "type": "string", "required": false },
        "priority": { "type": "option", "required": false, "default": "none", "options": priorities },
        "state_id": { "type": "uuid", "required": false, "options": around.states },
        "assignee_ids": ids(&around.members),
        "label_ids": ids(&around.labels),
        "start_date": date,
        "target_date": date,
        "parent_id": id,
    });
    if around.has_estimate {
        fields["estimate_point_id"] = id;
    }
    fields
}

fn custom_field(applicable: &Applicable, around: &Surroundings) -> Value {
    let property = &applicable.property;
    let mut field = json!({
        "id": property.id,
        "type": property.property_type,
        "name": property.name,
        "display_name": property.display_name,
        "description": property.description,
        "required": applicable.is_required,
        "is_multi": applicable.is_multi,
    });
    if let Some(relation) = property.relation_type {
        field["relation_type"] = json!(relation);
    }
    if property.property_type != PropertyType::Relation {
        // Empty for kinds without options.
        let options = applicable.options.iter().map(|offered| {
            let option = &offered.option;
            json!({ "id": option.id, "name": option.name, "logo_props": option.logo_props })
        });
        field["options"] = options.collect();
    } else if let (Some(RelationType::User), Some(members)) = (property.relation_type, &around.members) {
        field["options"] = json!(members);
    }
    field
}

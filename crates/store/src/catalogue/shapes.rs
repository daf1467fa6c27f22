//! Read shapes: the members of definitions that clients see, in the order of the contract. May use: `plan`, `v2`, this
//! folder.

use super::model::{Catalogue, Context, FLAGS, Features, Property, PropertyOption, WorkItemType};
use crate::plan::TypeMode;
use crate::v2::time;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::sync::Arc;
use uuid::Uuid;

fn shape<const N: usize>(members: [(&str, Value); N]) -> Map<String, Value> {
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Writes a number that has no fraction as an integer.
fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0 { json!(value as i64) } else { json!(value) }
}

/// Returns a type as its owner's routes show it.
pub fn work_item_type(kind: &WorkItemType) -> Map<String, Value> {
    shape([
        ("id", json!(kind.id)),
        ("name", json!(kind.name)),
        ("description", json!(kind.description)),
        ("is_active", json!(kind.is_active)),
        ("is_default", json!(kind.is_default)),
        ("is_epic", json!(kind.is_epic)),
        ("level", json!(kind.level)),
        ("logo_props", kind.logo_props.clone()),
        ("created_at", json!(time::write(kind.created_at))),
    ])
}

/// Returns a type as a project shows it: `is_default` marks the one type that new items of the project get, own or
/// imported (O62).
pub fn work_item_type_on_project(
    catalogue: &Catalogue,
    project: Uuid,
    mode: TypeMode,
    kind: &WorkItemType,
) -> Map<String, Value> {
    let mut shape = work_item_type(kind);
    let is_default = catalogue.default_type(project, mode).is_some_and(|default| default.id == kind.id);
    shape.insert("is_default".to_owned(), json!(is_default));
    shape
}

/// Returns a property with all its options.
pub fn property(catalogue: &Catalogue, property: &Property) -> Map<String, Value> {
    let options = catalogue.options_of(property.id);
    let preselected = if options.is_empty() { HashSet::new() } else { catalogue.preselected(property.id) };
    property_with(property, &options, &preselected)
}

/// Returns a property with the given options. `preselected` may contain options of other properties too.
pub fn property_with(
    property: &Property,
    options: &[&Arc<PropertyOption>],
    preselected: &HashSet<Uuid>,
) -> Map<String, Value> {
    let options: Vec<Value> =
        options.iter().map(|option| option_with(option, preselected.contains(&option.id)).into()).collect();
    shape([
        ("id", json!(property.id)),
        ("name", json!(property.name)),
        ("display_name", json!(property.display_name)),
        ("description", json!(property.description)),
        ("property_type", json!(property.property_type)),
        ("relation_type", json!(property.relation_type)),
        ("is_required", json!(property.is_required)),
        ("is_multi", json!(property.is_multi)),
        ("is_active", json!(property.is_active)),
        ("default_value", json!(property.default_value)),
        ("options", options.into()),
        ("settings", property.settings.clone()),
        ("validation_rules", property.validation_rules.clone()),
        ("logo_props", property.logo_props.clone()),
        ("external_id", json!(property.external_id)),
        ("external_source", json!(property.external_source)),
        ("created_at", json!(time::write(property.created_at))),
    ])
}

/// Returns one option of a property.
pub fn option(catalogue: &Catalogue, option: &PropertyOption) -> Map<String, Value> {
    option_with(option, catalogue.preselected(option.property).contains(&option.id))
}

/// Returns one option; the caller knows whether it is preselected.
pub fn option_with(option: &PropertyOption, is_preselected: bool) -> Map<String, Value> {
    shape([
        ("id", json!(option.id)),
        ("name", json!(option.name)),
        ("description", json!(option.description)),
        ("is_default", json!(is_preselected)),
        ("sort_order", number(option.sort_order)),
        ("external_id", json!(option.external_id)),
        ("external_source", json!(option.external_source)),
    ])
}

/// Returns a context with the short form of its options (15.10).
pub fn context(catalogue: &Catalogue, context: &Context) -> Map<String, Value> {
    let mut links: Vec<_> = context.options.iter().collect();
    links.sort_by(|a, b| a.sort_order.total_cmp(&b.sort_order));
    let options = links.into_iter().filter_map(|link| {
        let option = catalogue.options.get(&link.option)?;
        let members = [
            ("id", json!(option.id)),
            ("name", json!(option.name)),
            ("is_default", json!(link.is_default)),
            ("sort_order", number(link.sort_order)),
        ];
        Some(Value::Object(shape(members)))
    });
    let options: Vec<Value> = options.collect();
    shape([
        ("id", json!(context.id)),
        ("name", json!(context.name)),
        ("is_required", json!(context.is_required)),
        ("is_multi", json!(context.is_multi)),
        ("is_default", json!(context.is_default)),
        ("default_value", json!(context.default_value)),
        ("settings", context.settings.clone()),
        ("sort_order", number(context.sort_order)),
        ("applies_to_all_projects", json!(context.all_projects)),
        ("applies_to_all_work_item_types", json!(context.all_types)),
        ("external_id", json!(context.external_id)),
        ("external_source", json!(context.external_source)),
        ("created_at", json!(time::write(context.created_at))),
        ("project_ids", json!(context.projects)),
        ("issue_type_ids", json!(context.types)),
        ("options", options.into()),
    ])
}

/// Returns the features record.
pub fn features(features: &Features) -> Map<String, Value> {
    let mut record = Map::new();
    record.insert("id".to_owned(), json!(features.id));
    for (index, (name, on)) in FLAGS.iter().zip(features.flags).enumerate() {
        record.insert((*name).to_owned(), json!(on));
        if index == 0 {
            record.insert("work_item_type_default_level".to_owned(), json!(features.default_level));
        }
    }
    record.insert("created_at".to_owned(), json!(time::write(features.created_at)));
    record
}

/// Returns the answer of an attach: ids of all properties now on the type, in attachment order (O74).
pub fn attachment(catalogue: &Catalogue, type_id: Uuid) -> Map<String, Value> {
    let ids: Vec<Uuid> = catalogue.attached(type_id).iter().map(|property| property.id).collect();
    shape([("properties", json!(ids))])
}

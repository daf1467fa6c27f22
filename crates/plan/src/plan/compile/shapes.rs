//! Stage 3: read shapes. The visible fields of a resource become properties. `shapes/` adds what fields cannot
//! say: formats, nested objects, expansions. Resources without fields have their shape from `shapes/` alone. May use:
//! `mapping`, this folder.

use super::draft::Draft;
use crate::mapping::{Faults, InputSpec, Read, ShapeSpec, Trail};
use crate::plan::{Field, Kind, Shape, ValueType, schema};
use indexmap::IndexMap;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Beginning of a reference from one shape to another.
const REFERENCE: &str = "#/components/schemas/";
/// Keywords that describe a property by other means than its type.
const INSTEAD_OF_TYPE: [&str; 4] = ["$ref", "oneOf", "anyOf", "allOf"];

/// Builds the shapes, in order of their names.
pub(super) fn build(draft: &Draft, faults: &mut Faults) -> IndexMap<String, Shape> {
    let mut shapes: IndexMap<String, Shape> = IndexMap::new();
    let nothing = ShapeSpec::default();
    for (index, resource, file) in draft.resources_with_files() {
        let visible: Vec<&Field> = resource.fields.iter().filter(|field| !field.spec.hidden).collect();
        if visible.is_empty() || shapes.contains_key(&resource.shape) {
            continue;
        }
        let spec = draft.files.shapes.get(&resource.shape).unwrap_or(&nothing);
        let expanded: BTreeSet<&str> =
            draft.cases_of(index).flat_map(|case| &case.operation.expand).map(String::as_str).collect();
        let schema = of_fields(&visible, &file.inputs, &expanded, spec);
        shapes.insert(resource.shape.clone(), Shape { schema, inputs: spec.inputs.clone() });
    }
    for (name, spec) in &draft.files.shapes {
        let whole = || Shape { schema: spec.schema.clone().into(), inputs: spec.inputs.clone() };
        shapes.entry(name.clone()).or_insert_with(whole);
    }
    shapes.sort_unstable_keys();
    references_resolve(draft, &shapes, faults);
    shapes
}

fn of_fields(
    fields: &[&Field],
    inputs: &IndexMap<String, Read<InputSpec>>,
    expanded: &BTreeSet<&str>,
    spec: &ShapeSpec,
) -> Value {
    let mut refined = spec.schema.clone();
    let mut refinements = match refined.shift_remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    };
    let mut properties = Map::new();
    for field in fields {
        let own = property(field, inputs.get(&field.name).map(|input| &input.value));
        properties.insert(field.name.clone(), laid_over(own, refinements.shift_remove(&field.name)));
    }
    properties.extend(refinements);
    let required: Vec<&str> =
        fields.iter().map(|field| field.name.as_str()).filter(|name| !expanded.contains(name)).collect();
    let mut schema = Map::from_iter([("type".to_owned(), json!("object"))]);
    schema.insert("properties".into(), properties.into());
    schema.insert("required".into(), json!(required));
    schema.insert("additionalProperties".into(), false.into());
    schema.extend(refined);
    schema.into()
}

/// Returns the schema of a field: its declaration, and the limits of the body member of the same name. Every value that
/// can be read is a value that can be written.
fn property(field: &Field, input: Option<&InputSpec>) -> Map<String, Value> {
    let mut schema = schema::of_value(field.value);
    if field.value == ValueType::One(Kind::String) {
        if let Some(length) = input.and_then(|input| input.max_length) {
            schema.insert("maxLength".into(), length.into());
        }
        if let Some(allowed) = input.map(|input| &input.allowed).filter(|allowed| !allowed.is_empty()) {
            schema.insert("enum".into(), json!(allowed));
        }
    }
    if field.spec.nullable {
        schema::admit_null(&mut schema);
    }
    if !field.spec.notes.is_empty() {
        schema.insert("description".into(), field.spec.notes.as_str().into());
    }
    if field.spec.read_only {
        schema.insert("readOnly".into(), true.into());
    }
    schema
}

/// Lays the refinement over the field's own schema, keyword by keyword; the refinement wins. When the refinement
/// describes the property by other means than a type, only the describing keywords of the own schema stay.
fn laid_over(mut own: Map<String, Value>, refinement: Option<Value>) -> Value {
    let Some(Value::Object(refinement)) = refinement else { return own.into() };
    if INSTEAD_OF_TYPE.iter().any(|keyword| refinement.contains_key(*keyword)) {
        own.retain(|keyword, _| keyword == "description" || keyword == "readOnly");
    }
    own.extend(refinement);
    own.into()
}

fn references_resolve(draft: &Draft, shapes: &IndexMap<String, Shape>, faults: &mut Faults) {
    for (name, spec) in &draft.files.shapes {
        let mut targets = BTreeSet::new();
        references(&Value::Object(spec.schema.clone()), &mut targets);
        references(&Value::Object(spec.inputs.clone()), &mut targets);
        for target in targets {
            let known = target.strip_prefix(REFERENCE).is_some_and(|target| shapes.contains_key(target));
            if !known {
                faults.add(
                    &Trail::file(&spec.file).then(name.as_str()),
                    format!("refers to {target}, which is no shape"),
                );
            }
        }
    }
}

fn references(schema: &Value, targets: &mut BTreeSet<String>) {
    match schema {
        Value::Object(members) => {
            targets.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|member| references(member, targets));
        }
        Value::Array(elements) => elements.iter().for_each(|element| references(element, targets)),
        _ => {}
    }
}

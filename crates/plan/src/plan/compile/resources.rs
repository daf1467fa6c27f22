//! Stage 1: resources, their fields, and where v1 keeps their records. May use: `mapping`, this folder.

use super::draft::Draft;
use super::{kinds, rules};
use crate::mapping::{Faults, FieldSpec, Read, ResourceFile, Source, Trail, V1Spec};
use crate::plan::{Field, ParamRole, PathTemplate, Resource, V1Source};
use std::sync::Arc;

/// Builds a resource from every file.
pub(super) fn build(draft: &mut Draft, faults: &mut Faults) {
    for file in &draft.files.resources {
        let resource = resource(file, faults);
        draft.resources.push(resource);
    }
}

fn resource(file: &ResourceFile, faults: &mut Faults) -> Resource {
    let head = &file.head.value;
    let trail = file.trail();
    let fields = fields(file, &trail.then("fields"), faults);
    Resource {
        name: head.resource.clone(),
        known: head.resource.parse().ok(),
        file: file.file.clone(),
        about: head.about.clone(),
        source: head.source.unwrap_or(Source::Own),
        records: head.records,
        shape: head.shape.clone(),
        gaps: head.gaps.clone(),
        v1: file.v1.as_ref().map(|v1| v1_source(&v1.value, file, &fields, &trail.then("v1"), faults)),
        unique: rules::of_all(head.unique.as_ref(), &fields, &trail.then("unique"), faults),
        exclusive: rules::of_all(head.exclusive.as_ref(), &fields, &trail.then("exclusive"), faults),
        requires: rules::required(head.requires.as_ref(), &trail.then("requires"), faults),
        fields,
        cells: Vec::new(),
        columns: Arc::default(),
    }
}

/// Returns the fields in the order of the file, hidden fields last.
fn fields(file: &ResourceFile, trail: &Trail, faults: &mut Faults) -> Vec<Field> {
    let mut specs: Vec<(&String, &Read<FieldSpec>)> = file.fields.iter().collect();
    specs.sort_by_key(|(_, spec)| spec.value.hidden);
    specs
        .into_iter()
        .map(|(name, spec)| field(name, &spec.value, file, &trail.then(name.as_str()), faults))
        .collect()
}

fn field(name: &str, spec: &FieldSpec, file: &ResourceFile, trail: &Trail, faults: &mut Faults) -> Field {
    if let Some(other) = spec.not_before.as_ref().filter(|other| !file.fields.contains_key(*other)) {
        faults.add(&trail.then("not_before"), format!("there is no field `{other}`"));
    }
    let value = kinds::value_type(spec.kind, spec.items, trail, faults);
    Field { name: name.into(), value, spec: spec.clone() }
}

fn v1_source(spec: &V1Spec, file: &ResourceFile, fields: &[Field], trail: &Trail, faults: &mut Faults) -> V1Source {
    V1Source {
        collection: template(spec.collection.as_deref(), &trail.then("collection"), faults),
        record: template(spec.record.as_deref(), &trail.then("record"), faults),
        rows: spec.rows,
        one: spec.one,
        also_in: template(spec.also_in.as_deref(), &trail.then("also_in"), faults),
        list_query: if spec.select { list_query(fields) } else { String::new() },
        refusals: file.refusals.iter().map(|refusal| refusal.value.clone()).collect(),
    }
}

fn template(text: Option<&str>, trail: &Trail, faults: &mut Faults) -> Option<PathTemplate> {
    let text = text?;
    if text.starts_with('/') {
        faults.add(trail, "starts with a slash; v1 paths are relative to v1's base");
    }
    PathTemplate::parse(text).map_err(|message| faults.add(trail, format!("the path {message}"))).ok()
}

/// Builds the query that asks the list for `id` and all other members that the fields need, each once.
fn list_query(fields: &[Field]) -> String {
    let mut names = vec!["id"];
    for name in fields.iter().filter_map(|field| field.spec.v1.as_deref()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    format!("fields={}", names.join(","))
}

/// Chooses the cells, the values that lists keep ready: the fields that lists filter, order and search by, in field
/// order. For records of the own store the cells only number the fields that a query names.
pub(super) fn choose_cells(draft: &mut Draft) {
    for (index, resource) in draft.resources.iter_mut().enumerate() {
        let mut names: Vec<&str> = Vec::new();
        for operation in draft.operations.iter().filter(|operation| operation.resource == index) {
            names.extend(operation.search.iter().map(String::as_str));
            names.extend(operation.order.iter().flat_map(|order| &order.allowed).map(String::as_str));
            names.extend(operation.params.iter().filter_map(|param| match &param.role {
                ParamRole::Filter(filter) => Some(filter.field.as_str()),
                _ => None,
            }));
        }
        resource.cells = (0..resource.fields.len())
            .filter(|&field| names.contains(&resource.fields[field].name.as_str()))
            .collect();
    }
}

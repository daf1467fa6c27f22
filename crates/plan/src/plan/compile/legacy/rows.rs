//! Rows that follow from the steps of the v2 operations. May use: `mapping`, `plan::legacy`.

use crate::mapping::{Method, Source, Step};
use crate::plan::legacy::{Extent, V1Operation};
use crate::plan::{Operation, PathTemplate, Resource};

/// Text for a call that v2 operations make, but that no v2 operation stands for.
pub(super) const ONLY_A_PART: &str = "No operation of v2 stands for it.";

/// Derives rows from the steps.
pub(super) fn derived(resources: &[Resource], operations: &[Operation]) -> Vec<V1Operation> {
    let mut rows: Vec<V1Operation> = Vec::new();
    for (index, operation) in operations.iter().enumerate() {
        if let Some((method, path)) = stands_for(operation, &resources[operation.resource]) {
            let row = row_of(&mut rows, method, &path);
            if row.successors.is_empty() {
                row.id = format!("v1_{}", operation.id);
                row.path = path;
                row.does.clone_from(&operation.summary);
                row.extent = Extent::All;
            }
            row.successors.push(index);
        }
    }
    for (index, operation) in operations.iter().enumerate() {
        for call in &operation.v1 {
            let row = row_of(&mut rows, call.method, &call.path);
            if !row.made_by.contains(&index) {
                row.made_by.push(index);
            }
        }
    }
    rows
}

/// Returns the call of v1 that an operation of v2 replaces.
fn stands_for(operation: &Operation, resource: &Resource) -> Option<(Method, PathTemplate)> {
    let v1 = resource.v1.as_ref().filter(|_| resource.source == Source::V1);
    let collection = || v1?.collection.clone();
    let record = || v1?.record.clone().or_else(|| v1?.collection.clone());
    Some(match operation.step {
        Step::ReadCollection => (Method::Get, collection()?),
        Step::ReadOne => (Method::Get, record()?),
        Step::Create => (Method::Post, collection()?),
        Step::Update => (Method::Patch, record()?),
        Step::Delete => (Method::Delete, record()?),
        Step::Special(_) => {
            v1?;
            let same = operation.v1.iter().find(|call| call.method == operation.method);
            let alike = |method: Method| method.writes() == operation.method.writes();
            let call = same.or_else(|| operation.v1.iter().find(|call| alike(call.method)))?;
            (call.method, call.path.clone())
        }
        Step::Pending => return None,
    })
}

/// Returns the row of a call. Creates the row when there is none.
pub(super) fn row_of<'r>(
    rows: &'r mut Vec<V1Operation>,
    method: Method,
    path: &PathTemplate,
) -> &'r mut V1Operation {
    let known = rows.iter().position(|row| row.method == method && row.path.shape() == path.shape());
    let at = known.unwrap_or_else(|| {
        rows.push(V1Operation {
            id: format!("v1_{}_{}", method.as_str().to_ascii_lowercase(), words(path)),
            method,
            path: path.clone(),
            does: "a call of v1".into(),
            successors: Vec::new(),
            made_by: Vec::new(),
            extent: Extent::None(ONLY_A_PART.into()),
            fills: Vec::new(),
            reads: Vec::new(),
            together: Vec::new(),
            rows: None,
            shows: Vec::new(),
            differs: Vec::new(),
            instead: Vec::new(),
            served: true,
        });
        rows.len() - 1
    });
    &mut rows[at]
}

fn words(path: &PathTemplate) -> String {
    let shape = path.shape();
    let words: Vec<&str> = shape.split('/').filter(|word| !word.is_empty()).collect();
    words.join("_").replace('-', "_")
}

//! Stage 5: the public operations of v1, from the steps of the v2 operations and from what is declared beside them.
//!
//! The v1 operation that a v2 operation stands for follows from its step: a list for v1's list, a create for v1's POST,
//! and so on; a function stands for the first of its calls with the method of the operation, else for the first that
//! reads or writes as it does. May use: `mapping`, this folder.

use crate::mapping::{Faults, Method, Source, Step, Trail, V1_FILE, V1Row, V1Table};
use crate::plan::legacy::{Extent, Fill, V1Operation, V1Operations};
use crate::plan::{Operation, PathTemplate, Resource};

/// What is said of a call that v2 operations make and none stands for.
const ONLY_A_PART: &str = "No operation of v2 stands for it.";

pub(super) fn build(
    table: &V1Table,
    resources: &[Resource],
    operations: &[Operation],
    faults: &mut Faults,
) -> V1Operations {
    let mut rows = derived(resources, operations);
    for row in &table.operations {
        let trail = Trail::file(V1_FILE).then(if row.call.is_empty() { "an operation" } else { &row.call });
        if let Err(message) = declared(row, operations, &mut rows) {
            faults.add(&trail, message);
        }
    }
    for row in &rows {
        let trail = Trail::file(V1_FILE).then(format!("{} {}", row.method, row.path));
        if rows.iter().filter(|other| other.id == row.id).count() > 1 {
            faults.add(&trail, format!("another operation of v1 is called {} too", row.id));
        }
        fills(row, operations).into_iter().for_each(|message| faults.add(&trail, message));
    }
    for name in table.records.keys().chain(table.inputs.keys()) {
        if !resources.iter().any(|resource| resource.name == *name) {
            faults.add(&Trail::file(V1_FILE).then(name.as_str()), "is no resource");
        }
    }
    V1Operations::new(rows, table)
}

/// Rows that follow from the steps.
fn derived(resources: &[Resource], operations: &[Operation]) -> Vec<V1Operation> {
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

/// The call of v1 that an operation of v2 takes the place of.
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

/// The row of a call, made when there is none.
fn row_of<'r>(rows: &'r mut Vec<V1Operation>, method: Method, path: &PathTemplate) -> &'r mut V1Operation {
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

/// Adds what is declared.
fn declared(row: &V1Row, operations: &[Operation], rows: &mut Vec<V1Operation>) -> Result<(), String> {
    let (word, path) = row.call.split_once(' ').unwrap_or((&row.call, ""));
    let method = word.parse().map_err(|_| "`call` does not begin with a method: GET, POST, PATCH or DELETE")?;
    let path = PathTemplate::parse(path).map_err(|message| format!("the path {message}"))?;
    let known = row_of(rows, method, &path);
    if known.successors.is_empty() {
        known.path = path;
    }
    let index = |id: &String| operations.iter().position(|operation| operation.id == *id);
    for id in &row.successors {
        known.successors.push(index(id).ok_or_else(|| format!("successors: there is no operation {id}"))?);
    }
    for (member, [set, cleared]) in &row.instead {
        let Some(both) = index(set).zip(index(cleared)) else {
            return Err(format!("instead › {member}: names an operation that there is not"));
        };
        known.instead.push((member.clone(), both.into()));
    }
    known.reads.clone_from(&row.reads);
    known.differs.clone_from(&row.differs);
    if let Some(id) = &row.id {
        known.id.clone_from(id);
    }
    if !row.does.is_empty() {
        known.does.clone_from(&row.does);
    }
    known.served = row.served.unwrap_or(true);
    known.extent = match (&row.part, &row.none, known.successors.is_empty()) {
        (None, Some(why), true) => Extent::None(why.clone()),
        (None, None, true) if !known.made_by.is_empty() => Extent::None(ONLY_A_PART.into()),
        (_, None, true) => return Err("has no successor; `none` says why".into()),
        // A mapping that is laid over these has more than they have.
        (None, Some(_), false) if row.successors.is_empty() => Extent::All,
        (_, Some(_), false) => return Err("has successors, and `none` says that there is none".into()),
        (Some(_), Some(_), true) => return Err("`part` and `none` exclude each other".into()),
        (Some(what), None, false) => Extent::Part(what.clone()),
        (None, None, false) => Extent::All,
    };
    for (name, with) in &row.fills {
        let fill = match (with.strip_prefix('?'), with.strip_prefix('{').and_then(|name| name.strip_suffix('}'))) {
            (Some(parameter), _) => Fill::Parameter(parameter.into()),
            (None, Some(variable)) => Fill::Variable(variable.into()),
            (None, None) => return Err(format!("fills › {name}: write `{{variable}}` or `?parameter`")),
        };
        known.fills.push((name.clone(), fill));
    }
    Ok(())
}

/// What is wrong with the way the usual successor is filled.
fn fills(row: &V1Operation, operations: &[Operation]) -> Vec<String> {
    let Some(successor) = row.successors.first().map(|&index| &operations[index]) else {
        return row.fills.iter().map(|(name, _)| format!("fills › {name}: there is no successor")).collect();
    };
    let has = |variable: &str| row.path.variables().any(|known| known == variable);
    let mut wrong = Vec::new();
    for variable in successor.path.variables() {
        if !has(variable) && !row.fills.iter().any(|(name, _)| name == variable) {
            wrong.push(format!("nothing fills the variable {{{variable}}} of {}", successor.id));
        }
    }
    for (name, fill) in &row.fills {
        let takes = successor.path.variables().any(|known| known == name)
            || successor.params.iter().any(|param| param.name == *name);
        if !takes {
            wrong.push(format!("fills › {name}: {} has no such variable or parameter", successor.id));
        }
        if let Fill::Variable(variable) = fill
            && !has(variable)
        {
            wrong.push(format!("fills › {name}: the path has no variable {{{variable}}}"));
        }
    }
    wrong
}

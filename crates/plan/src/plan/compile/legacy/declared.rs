//! Declared rows, laid over the rows that follow from the steps. May use: `mapping`, `plan::legacy`, this folder.

use super::rows::{ONLY_A_PART, row_of};
use crate::mapping::V1Row;
use crate::plan::legacy::{Extent, Fill, V1Operation};
use crate::plan::{Operation, PathTemplate};

/// Adds a declared row.
pub(super) fn declared(row: &V1Row, operations: &[Operation], rows: &mut Vec<V1Operation>) -> Result<(), String> {
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
    if let Some(name) = row.together.iter().find(|name| !row.reads.contains(name)) {
        return Err(format!("together › {name}: is none of `reads`"));
    }
    known.together.clone_from(&row.together);
    known.rows.clone_from(&row.rows);
    known.shows.clone_from(&row.shows);
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
        // A mapping laid over the built-in ones has an operation for this call, which they do not have.
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

/// Returns the faults in the way the variables and parameters of the usual successor are filled.
pub(super) fn fills(row: &V1Operation, operations: &[Operation]) -> Vec<String> {
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

//! The search of a workspace's work items. May use: `door`, `forms`, `records`.

use serde_json::json;

use crate::door::call::Call;
use crate::door::http::{Answer, Reply};
use crate::forms::values;
use crate::records::kinds::{Item, Project, Workspace};
use crate::records::store::World;
use crate::records::table::Id;

/// `GET work-items/search/`: finds work items by a part of their name, by their number, or by a part of the project
/// identifier. It searches only projects of the caller and never rejects a caller (`search_by_workspace_outsider`).
pub(crate) fn search(call: &Call<'_>, world: &World) -> Answer {
    let limit = match call.query.get("limit") {
        None => 10,
        Some(text) => values::whole(text).ok_or_else(Reply::crash)?,
    };
    let limit = usize::try_from(limit).map_err(|_| Reply::crash())?;
    let text = call.query.get("search").unwrap_or_default();
    let workspace = world.workspace(&call.place.slug);
    let (Some(workspace), false) = (workspace, text.is_empty()) else {
        return Ok(Reply::ok(json!({ "issues": [] })));
    };
    let mut hits = Vec::new();
    for project in searched(call, world, workspace)? {
        hits.extend(found(world, project, text).map(|item| (item, project.identifier.as_str())));
    }
    hits.sort_by_key(|(item, _)| std::cmp::Reverse(item.created_at));
    let issues: Vec<_> = hits
        .into_iter()
        .take(limit)
        .map(|(item, identifier)| {
            json!({
                "name": item.name,
                "id": item.id,
                "sequence_id": item.sequence_id,
                "project__identifier": identifier,
                "project_id": item.project,
                "workspace__slug": workspace.slug,
            })
        })
        .collect();
    Ok(Reply::ok(json!({ "issues": issues })))
}

/// The projects to search: the caller's projects, or the one that the request names.
fn searched<'w>(call: &Call<'_>, world: &'w World, workspace: &Workspace) -> Result<Vec<&'w Project>, Reply> {
    let wide = call.query.get("workspace_search") == Some("true");
    let only: Option<Id> = match call.query.get("project_id").filter(|id| !wide && !id.is_empty()) {
        Some(id) => Some(values::id(id).ok_or_else(Reply::bad_detail)?),
        None => None,
    };
    let projects = world.projects.of(workspace.id).filter(|project| {
        only.is_none_or(|only| only == project.id)
            && project.archived_at.is_none()
            && world.active_member(project.id, call.user).is_some()
    });
    Ok(projects.collect())
}

/// The work items of a project that a text finds.
fn found<'w>(world: &'w World, project: &Project, text: &str) -> impl Iterator<Item = &'w Item> {
    let part = text.to_lowercase();
    let wanted = numbers(text);
    let all = project.identifier.to_lowercase().contains(&part);
    world.items.of(project.id).filter(move |item| {
        let hit = all || wanted.contains(&item.sequence_id) || item.name.to_lowercase().contains(&part);
        hit && world.shown(item)
    })
}

/// The whole numbers that stand alone in a text (`search_by_key`).
fn numbers(text: &str) -> Vec<i64> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit()))
        .filter_map(|word| word.parse().ok())
        .collect()
}

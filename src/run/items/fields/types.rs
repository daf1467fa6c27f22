//! Types of a project, for work items. May use: what `run` may use.

use crate::catalogue::{Catalogue, WorkItemType};
use crate::refusal::{FieldError, Refusal};
use crate::run::job::{InProject, Job};
use crate::store::{ProjectItems, TypeChange};
use crate::translate::work_items::Item;
use crate::v2::body::Given;
use crate::v2::value::{read_uuid, small_letters, trimmed};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use uuid::Uuid;

const OFF: &str = "work item types are not switched on in this project; leave it out";

impl InProject<'_> {
    /// Returns all definitions in the workspace of the call's project.
    pub(in crate::run) async fn definitions(&self) -> Result<Arc<Catalogue>, Refusal> {
        Ok(self.runner.store.catalogue(self.card.workspace_id).await?)
    }
}

impl Job {
    /// Counts the work items of a type: first those that v1 shows or, where the gateway has no index of their project,
    /// may show; then those that it hides (archived, or missing and perhaps returning).
    pub async fn uses_of_type(&self, type_id: Uuid) -> Result<(usize, usize), Refusal> {
        let store = &self.runner.store;
        let mut by_project: HashMap<Uuid, Vec<Uuid>> = HashMap::new();
        for (project, item) in store.items_of_type(type_id).await? {
            by_project.entry(project).or_default().push(item);
        }
        let (mut live, mut hidden) = (0, 0);
        for (project, items) in by_project {
            let (recorded, index) = (store.project_items(project).await?, self.runner.indexes.of_project(project));
            let is_marked = |item: &Uuid| recorded.missing.contains(item) || recorded.archived.contains(item);
            let is_live = |item: &&Uuid| match &index {
                Some(index) => index.get(**item).is_some(),
                None => !is_marked(item),
            };
            let shown = items.iter().filter(is_live).count();
            (live, hidden) = (live + shown, hidden + items.len() - shown);
        }
        Ok((live, hidden))
    }
}

/// Returns the change of the type that a body asks for; `stored` is the type before.
pub(in crate::run) fn asked(
    catalogue: &Catalogue,
    project: Uuid,
    given: &Given,
    stored: Option<Uuid>,
) -> Result<TypeChange, FieldError> {
    if let Some(name) = given.get("type").and_then(Value::as_str) {
        let kind = named(catalogue, project, name)?;
        return selectable(kind, stored).map_err(|why| FieldError::new("type", why));
    }
    let Some(sent) = given.get("type_id") else { return Ok(TypeChange::Kept) };
    let Some(id) = sent.as_str().and_then(read_uuid) else { return Ok(TypeChange::Set(None)) };
    let error = |why: &str| FieldError::new("type_id", why);
    match catalogue.type_on_project(project, id) {
        Some(kind) => selectable(kind, stored).map_err(error),
        None if catalogue.types_on_project(project).is_empty() => Err(error(OFF)),
        None => Err(error("names no work item type of this project")),
    }
}

fn named<'c>(catalogue: &'c Catalogue, project: Uuid, name: &str) -> Result<&'c Arc<WorkItemType>, FieldError> {
    let types = catalogue.types_on_project(project);
    let error = |why: &str| Err(FieldError::new("type", why));
    if types.is_empty() {
        return error(OFF);
    }
    let wanted = small_letters(trimmed(name));
    let hits: Vec<_> = types.into_iter().filter(|kind| small_letters(trimmed(&kind.name)) == wanted).collect();
    match hits.as_slice() {
        [kind] => Ok(kind),
        [] => error("names no work item type of this project; use type_id"),
        _ => error("names several work item types of this project; use type_id"),
    }
}

/// Checks that a type may be set: an inactive type stays on its items but cannot be set on others (O35).
fn selectable(kind: &WorkItemType, stored: Option<Uuid>) -> Result<TypeChange, &'static str> {
    if kind.is_active || stored == Some(kind.id) {
        Ok(TypeChange::Set(Some(kind.id)))
    } else {
        Err("names an inactive type, which is not for new items")
    }
}

/// Returns the data that `expand=type` adds to each item.
pub(in crate::run) async fn expanded(
    job: &InProject<'_>,
    items: &[Item],
    recorded: &ProjectItems,
) -> Result<Vec<Value>, Refusal> {
    if recorded.types.is_empty() {
        return Ok(vec![Value::Null; items.len()]);
    }
    let catalogue = job.definitions().await?;
    let leaf = |kind: &Arc<WorkItemType>| json!({"id": kind.id, "name": kind.name, "logo_props": kind.logo_props, "is_epic": kind.is_epic});
    let of = |item: &Item| recorded.types.get(&item.id).and_then(|id| catalogue.types.get(id));
    Ok(items.iter().map(|item| of(item).map_or(Value::Null, leaf)).collect())
}

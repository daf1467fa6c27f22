//! Work item types of projects and of workspaces (14.1). May use: what `run` may use.

use super::call::{OwnCall, Surface, found};
use super::lists::Row;
use super::verbs::{CheckedBody, Records};
use crate::amount::amount;
use crate::catalogue::{Catalogue, Edit, TYPE_IN_USE, WorkItemType, shapes};
use crate::refusal::Refusal;
use crate::run::members::ids;
use crate::v2::Reply;
use serde_json::{Map, Value};
use std::sync::Arc;
use uuid::Uuid;

impl OwnCall<'_> {
    /// Returns a type that the call's surface lists: on a project also imported types but never epics, on the workspace
    /// only its own types. For any other id, 404.
    pub(super) fn listed_type(&self, id: Uuid) -> Result<&Arc<WorkItemType>, Refusal> {
        found(match self.project {
            Some(project) => self.catalogue.type_on_project(project, id),
            None => self.catalogue.types.get(&id).filter(|kind| kind.project.is_none()),
        })
    }
}

impl Surface {
    fn type_shape(self, catalogue: &Catalogue, kind: &WorkItemType) -> Map<String, Value> {
        match self.project {
            Some(project) => {
                let mode = catalogue.mode(self.workspace_level);
                shapes::work_item_type_on_project(catalogue, project, mode, kind)
            }
            None => shapes::work_item_type(kind),
        }
    }
}

pub(super) struct Types;

impl Records for Types {
    fn rows(surface: Surface, catalogue: &Catalogue, _: Option<Uuid>) -> Vec<Row> {
        let types = match surface.project {
            Some(project) => catalogue.types_on_project(project),
            None => catalogue.types_of(None),
        };
        let row = |kind: &Arc<WorkItemType>| Row {
            id: kind.id,
            shape: surface.type_shape(catalogue, kind),
            hidden: Vec::new(),
        };
        types.into_iter().map(row).collect()
    }

    fn shown(call: &OwnCall<'_>) -> Result<Map<String, Value>, Refusal> {
        Ok(call.surface().type_shape(&call.catalogue, call.listed_type(call.job.pk()?)?))
    }

    fn written(call: &OwnCall<'_>, catalogue: &Catalogue, id: Uuid) -> Result<Map<String, Value>, Refusal> {
        Ok(call.surface().type_shape(catalogue, found(catalogue.types.get(&id))?))
    }

    fn check_may_write(call: &OwnCall<'_>, catalogue: &Catalogue, id: Option<Uuid>) -> Result<(), Refusal> {
        id.map_or(Ok(()), |id| catalogue.writable_type(call.project, id).map(|_| ()))
    }

    fn create(call: &OwnCall<'_>, edit: &mut Edit, sent: &CheckedBody) -> Result<Uuid, Refusal> {
        edit.create_type(call.project, &sent.given)
    }

    fn update(_: &OwnCall<'_>, edit: &mut Edit, id: Uuid, sent: &CheckedBody) -> Result<(), Refusal> {
        edit.update_type(id, &sent.given)
    }

    fn delete(_: &OwnCall<'_>, edit: &mut Edit, id: Uuid) -> Result<(), Refusal> {
        edit.delete_type(id)
    }

    async fn not_deleted(call: &OwnCall<'_>, id: Uuid, refusal: Refusal) -> Refusal {
        let has_items = matches!(&refusal, Refusal::Conflict { detail } if detail == TYPE_IN_USE);
        if !has_items {
            return refusal;
        }
        // The transaction was undone, and counting the items may take long.
        call.job.call.ctx.meter.only_wait();
        in_use(call, id).await.unwrap_or_else(Some).unwrap_or(refusal)
    }
}

/// Returns the refusal with the number of work items of the type, also of hidden ones, which a client cannot find. None
/// when no work item has the type.
async fn in_use(call: &OwnCall<'_>, id: Uuid) -> Result<Option<Refusal>, Refusal> {
    let (live, hidden) = call.job.uses_of_type(id).await?;
    let have = if live == 1 { "has" } else { "have" };
    Ok((live + hidden > 0).then(|| Refusal::Conflict {
        detail: format!("{} {have} this type, and {hidden} more, archived or hidden.", amount(live, "work item")),
    }))
}

pub(super) async fn mark_default(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    let id = call.job.pk()?;
    call.catalogue.writable_type(call.project, id)?;
    call.job.given()?;
    let rules = call.edit(|edit| {
        edit.after.writable_type(call.project, id)?;
        edit.mark_default(id)
    });
    let (_, after) = rules.await?;
    Types::created(call, &after, id)
}

pub(super) async fn enable(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    call.job.given()?;
    let project = found(call.project)?;
    let (id, after) = call.edit(|edit| edit.enable(project)).await?;
    Types::created(call, &after, id)
}

/// Answers without a body: an import creates no record that could be shown (14.1).
pub(super) async fn import(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    let given = call.job.given()?;
    let project = found(call.project)?;
    let types = given.get("work_item_types").map(ids).unwrap_or_default();
    call.edit(|edit| edit.import(project, &types)).await?;
    Ok(Reply { status: call.job.operation().status, ..Reply::no_content() })
}

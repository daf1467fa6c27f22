//! Work item types of projects and of workspaces (14.1).

use super::call::{OwnCall, found};
use super::lists::Row;
use crate::catalogue::{Catalogue, WorkItemType, shapes};
use crate::refusal::Refusal;
use crate::v2::Reply;
use serde_json::{Map, Value};
use std::sync::Arc;
use uuid::Uuid;

impl OwnCall<'_> {
    /// A type as the call's surface lists it: on a project imported ones too and epics never, on the
    /// workspace its own alone.
    pub(super) fn listed_type<'c>(&self, catalogue: &'c Catalogue, id: Uuid) -> Option<&'c Arc<WorkItemType>> {
        match self.project {
            Some(project) => catalogue.type_on_project(project, id),
            None => catalogue.types.get(&id).filter(|kind| kind.project.is_none()),
        }
    }

    fn type_shape(&self, catalogue: &Catalogue, kind: &WorkItemType) -> Map<String, Value> {
        match self.project {
            Some(project) => shapes::work_item_type_on_project(catalogue, project, self.mode(catalogue), kind),
            None => shapes::work_item_type(kind),
        }
    }

    fn type_reply(&self, catalogue: &Catalogue, id: Uuid) -> Result<Reply, Refusal> {
        let kind = found(catalogue.types.get(&id))?;
        Ok(self.reply(self.type_shape(catalogue, kind)))
    }
}

pub(super) fn list(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    call.page(None, |catalogue| {
        let types = match call.project {
            Some(project) => catalogue.types_on_project(project),
            None => catalogue.types_of_workspace(),
        };
        let row = |kind: &Arc<WorkItemType>| Row {
            id: kind.id,
            shape: call.type_shape(catalogue, kind),
            hidden: Vec::new(),
        };
        types.into_iter().map(row).collect()
    })
}

pub(super) fn retrieve(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    let kind = found(call.listed_type(call.catalogue(), call.pk()?))?;
    call.read_reply(call.type_shape(call.catalogue(), kind))
}

pub(super) async fn create(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    let given = call.given()?;
    let (id, after) = call.edit(|edit| edit.create_type(call.project, &given)).await?;
    call.type_reply(&after, id)
}

pub(super) async fn update(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    let id = call.pk()?;
    call.catalogue().writable_type(call.project, id)?;
    let given = call.given()?;
    let rules = call.edit(|edit| {
        edit.after.writable_type(call.project, id)?;
        edit.update_type(id, &given)
    });
    let (_, after) = rules.await?;
    call.type_reply(&after, id)
}

pub(super) async fn delete(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    let id = call.pk()?;
    let rules = call.edit(|edit| {
        edit.after.writable_type(call.project, id)?;
        edit.delete_type(id)
    });
    match rules.await {
        Ok(_) => Ok(Reply::no_content()),
        Err(refusal @ Refusal::Conflict { .. }) => Err(in_use(call, id).await?.unwrap_or(refusal)),
        Err(refusal) => Err(refusal),
    }
}

/// The refusal in numbers, when work items are the reason; hidden ones would otherwise be looked for in vain.
async fn in_use(call: &OwnCall<'_>, id: Uuid) -> Result<Option<Refusal>, Refusal> {
    let (live, hidden) = call.job.uses_of_type(id).await?;
    Ok((live + hidden > 0).then(|| Refusal::Conflict {
        detail: format!("{live} work items have this type, and {hidden} more that are archived or hidden."),
    }))
}

pub(super) async fn mark_default(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    let id = call.pk()?;
    call.catalogue().writable_type(call.project, id)?;
    call.given()?;
    let rules = call.edit(|edit| {
        edit.after.writable_type(call.project, id)?;
        edit.mark_default(id)
    });
    let (_, after) = rules.await?;
    call.type_reply(&after, id)
}

pub(super) async fn enable(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    call.given()?;
    let project = found(call.project)?;
    let (id, after) = call.edit(|edit| edit.enable(project)).await?;
    call.type_reply(&after, id)
}

/// Answers without a body: nothing is made that could be shown (14.1).
pub(super) async fn import(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    let given = call.given()?;
    let project = found(call.project)?;
    let types = ids(given.get("work_item_types"));
    call.edit(|edit| edit.import(project, &types)).await?;
    Ok(Reply { status: call.job.operation().status, ..Reply::no_content() })
}

/// Ids of a member whose elements were checked with the body.
pub(super) fn ids(member: Option<&Value>) -> Vec<Uuid> {
    let elements = member.and_then(Value::as_array).into_iter().flatten();
    elements.filter_map(|element| Uuid::try_parse(element.as_str()?).ok()).collect()
}

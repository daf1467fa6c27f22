//! Custom properties of projects and of workspaces (14.3).

use super::call::{OwnCall, found};
use super::lists::Row;
use crate::catalogue::{Catalogue, EntryForm, Property, shapes};
use crate::refusal::Refusal;
use crate::v2::Reply;
use crate::v2::record::Cell;
use std::sync::Arc;
use uuid::Uuid;

impl OwnCall<'_> {
    /// A property as the call's surface shows it: on a project those its imported types carry too (O86).
    pub(super) fn listed_property<'c>(&self, catalogue: &'c Catalogue, id: Uuid) -> Option<&'c Arc<Property>> {
        match self.project {
            Some(project) => catalogue.property_on_project(project, id),
            None => catalogue.properties.get(&id).filter(|property| property.project.is_none()),
        }
    }

    fn property_reply(&self, catalogue: &Catalogue, id: Uuid) -> Result<Reply, Refusal> {
        Ok(self.reply(shapes::property(catalogue, found(catalogue.properties.get(&id))?)))
    }
}

pub(super) fn list(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    call.page(None, |catalogue| {
        let properties = match call.project {
            Some(project) => catalogue.properties_on_project(project),
            None => catalogue.properties_of_workspace(),
        };
        properties.into_iter().map(|property| row(catalogue, property, property.sort_order)).collect()
    })
}

/// A property with its place in some list.
pub(super) fn row(catalogue: &Catalogue, property: &Property, sort_order: f64) -> Row {
    let shape = shapes::property(catalogue, property);
    Row { id: property.id, shape, hidden: vec![("sort_order", Cell::Number(sort_order))] }
}

pub(super) fn retrieve(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    let property = found(call.listed_property(call.catalogue(), call.pk()?))?;
    call.read_reply(shapes::property(call.catalogue(), property))
}

pub(super) async fn create(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    let given = call.given_definition(EntryForm::New)?;
    let (id, after) = call.edit(|edit| edit.create_property(call.project, &given)).await?;
    call.property_reply(&after, id)
}

pub(super) async fn update(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    let id = call.pk()?;
    call.catalogue().writable_property(call.project, id)?;
    let given = call.given_definition(EntryForm::Restated)?;
    let rules = call.edit(|edit| {
        edit.after.writable_property(call.project, id)?;
        edit.update_property(id, &given)
    });
    let (_, after) = rules.await?;
    call.property_reply(&after, id)
}

pub(super) async fn delete(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    let id = call.pk()?;
    let rules = call.edit(|edit| {
        edit.after.writable_property(call.project, id)?;
        edit.delete_property(id)
    });
    rules.await?;
    Ok(Reply::no_content())
}

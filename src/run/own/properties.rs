//! Custom properties of projects and of workspaces (14.3). May use: what `run` may use.

use super::call::{OwnCall, Surface, found};
use super::lists::Row;
use super::verbs::{CheckedBody, Records};
use crate::catalogue::{Catalogue, Edit, Property, shapes};
use crate::refusal::Refusal;
use crate::v2::record::Cell;
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::sync::Arc;
use uuid::Uuid;

impl OwnCall<'_> {
    /// Returns a property that the surface shows; a project also shows properties of its imported types (O86).
    /// For any other id, 404.
    pub(super) fn listed_property(&self, id: Uuid) -> Result<&Arc<Property>, Refusal> {
        found(match self.project {
            Some(project) => self.catalogue.property_on_project(project, id),
            None => self.catalogue.properties.get(&id).filter(|property| property.project.is_none()),
        })
    }
}

pub(super) struct Properties;

impl Records for Properties {
    fn rows(surface: Surface, catalogue: &Catalogue, _: Option<Uuid>) -> Vec<Row> {
        let properties = match surface.project {
            Some(project) => catalogue.properties_on_project(project),
            None => catalogue.properties_of(None),
        };
        rows(catalogue, properties.into_iter().map(|property| (&**property, property.sort_order)).collect())
    }

    fn shown(call: &OwnCall<'_>) -> Result<Map<String, Value>, Refusal> {
        Ok(shapes::property(&call.catalogue, call.listed_property(call.job.pk()?)?))
    }

    fn written(_: &OwnCall<'_>, catalogue: &Catalogue, id: Uuid) -> Result<Map<String, Value>, Refusal> {
        Ok(shapes::property(catalogue, found(catalogue.properties.get(&id))?))
    }

    fn check_may_write(call: &OwnCall<'_>, catalogue: &Catalogue, id: Option<Uuid>) -> Result<(), Refusal> {
        id.map_or(Ok(()), |id| catalogue.writable_property(call.project, id).map(|_| ()))
    }

    async fn sent(call: &OwnCall<'_>) -> Result<CheckedBody, Refusal> {
        Ok(CheckedBody { given: call.given_definition()?, projects: HashSet::new() })
    }

    fn create(call: &OwnCall<'_>, edit: &mut Edit, sent: &CheckedBody) -> Result<Uuid, Refusal> {
        edit.create_property(call.project, &sent.given)
    }

    fn update(_: &OwnCall<'_>, edit: &mut Edit, id: Uuid, sent: &CheckedBody) -> Result<(), Refusal> {
        edit.update_property(id, &sent.given)
    }

    fn delete(_: &OwnCall<'_>, edit: &mut Edit, id: Uuid) -> Result<(), Refusal> {
        edit.delete_property(id)
    }
}

/// Builds rows from properties with their places in a list.
pub(super) fn rows(catalogue: &Catalogue, properties: Vec<(&Property, f64)>) -> Vec<Row> {
    let ids: HashSet<Uuid> = properties.iter().map(|(property, _)| property.id).collect();
    let (options, preselected) = (catalogue.options_of_many(&ids), catalogue.preselected_of_many(&ids));
    let row = |(property, sort_order): (&Property, f64)| {
        let options = options.get(&property.id).map(Vec::as_slice).unwrap_or_default();
        let shape = shapes::property_with(property, options, &preselected);
        Row { id: property.id, shape, hidden: vec![("sort_order", Cell::Number(sort_order))] }
    };
    properties.into_iter().map(row).collect()
}

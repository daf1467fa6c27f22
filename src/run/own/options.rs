//! Choices of option properties (14.4). May use: what `run` may use.

use super::call::{OwnCall, Surface, found};
use super::lists::Row;
use super::verbs::{CheckedBody, Records};
use crate::catalogue::{Catalogue, Edit, PropertyOption, shapes};
use crate::refusal::Refusal;
use crate::v2::record::Cell;
use serde_json::{Map, Value};
use std::sync::Arc;
use uuid::Uuid;

const PROPERTY: &str = "property_id";

pub(super) struct Options;

impl Records for Options {
    /// A project's list requires that its property exists; the workspace's list only filters by it (14.4).
    fn above(call: &OwnCall<'_>) -> Result<Option<Uuid>, Refusal> {
        let property = call.variable(PROPERTY)?;
        if call.project.is_some() {
            call.listed_property(property)?;
        }
        Ok(Some(property))
    }

    fn rows(surface: Surface, catalogue: &Catalogue, above: Option<Uuid>) -> Vec<Row> {
        let property = above.unwrap_or_default();
        let options = match surface.project {
            Some(_) => catalogue.options_of(property),
            None => catalogue.options_of_workspace(property),
        };
        let preselected = catalogue.preselected(property);
        let row = |option: &Arc<PropertyOption>| Row {
            id: option.id,
            shape: shapes::option_with(option, preselected.contains(&option.id)),
            hidden: vec![("created_at", Cell::Instant(option.created_at))],
        };
        options.into_iter().map(row).collect()
    }

    fn shown(call: &OwnCall<'_>) -> Result<Map<String, Value>, Refusal> {
        let property = call.listed_property(call.variable(PROPERTY)?)?;
        let option = found(call.catalogue.option_of(property.id, call.job.pk()?))?;
        Ok(shapes::option(&call.catalogue, option))
    }

    fn written(_: &OwnCall<'_>, catalogue: &Catalogue, id: Uuid) -> Result<Map<String, Value>, Refusal> {
        Ok(shapes::option(catalogue, found(catalogue.options.get(&id))?))
    }

    fn check_may_write(call: &OwnCall<'_>, catalogue: &Catalogue, id: Option<Uuid>) -> Result<(), Refusal> {
        let property = call.variable(PROPERTY)?;
        catalogue.writable_property(call.project, property)?;
        id.map_or(Ok(()), |id| found(catalogue.option_of(property, id)).map(|_| ()))
    }

    fn create(call: &OwnCall<'_>, edit: &mut Edit, sent: &CheckedBody) -> Result<Uuid, Refusal> {
        edit.create_option(call.variable(PROPERTY)?, &sent.given)
    }

    fn update(_: &OwnCall<'_>, edit: &mut Edit, id: Uuid, sent: &CheckedBody) -> Result<(), Refusal> {
        edit.update_option(id, &sent.given)
    }

    fn delete(_: &OwnCall<'_>, edit: &mut Edit, id: Uuid) -> Result<(), Refusal> {
        edit.delete_option(id)
    }
}

//! Choices of option properties (14.4).

use super::call::{OwnCall, found};
use super::lists::Row;
use crate::catalogue::{Catalogue, PropertyOption, shapes};
use crate::refusal::Refusal;
use crate::v2::Reply;
use crate::v2::record::Cell;
use std::sync::Arc;
use uuid::Uuid;

const PROPERTY: &str = "property_id";

/// The list of a project looks its property up; that of the workspace filters by it (14.4).
pub(super) fn list(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    let property = call.variable(PROPERTY)?;
    if call.project.is_some() {
        found(call.listed_property(call.catalogue(), property))?;
    }
    call.page(Some(property), |catalogue| {
        let options = match call.project {
            Some(_) => catalogue.options_of(property),
            None => catalogue.options_of_workspace(property),
        };
        let row = |option: &Arc<PropertyOption>| Row {
            id: option.id,
            shape: shapes::option(catalogue, option),
            hidden: vec![("created_at", Cell::Instant(option.created_at))],
        };
        options.into_iter().map(row).collect()
    })
}

pub(super) fn retrieve(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    let property = found(call.listed_property(call.catalogue(), call.variable(PROPERTY)?))?;
    let option = found(call.catalogue().option_of(property.id, call.pk()?))?;
    call.read_reply(shapes::option(call.catalogue(), option))
}

pub(super) async fn create(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    let property = call.variable(PROPERTY)?;
    call.catalogue().writable_property(call.project, property)?;
    let given = call.given()?;
    let rules = call.edit(|edit| {
        edit.after.writable_property(call.project, property)?;
        edit.create_option(property, &given)
    });
    let (id, after) = rules.await?;
    option_reply(call, &after, id)
}

pub(super) async fn update(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    let (property, id) = (call.variable(PROPERTY)?, call.pk()?);
    writable(call, call.catalogue(), property, id)?;
    let given = call.given()?;
    let rules = call.edit(|edit| {
        writable(call, &edit.after, property, id)?;
        edit.update_option(id, &given)
    });
    let (_, after) = rules.await?;
    option_reply(call, &after, id)
}

pub(super) async fn delete(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    let (property, id) = (call.variable(PROPERTY)?, call.pk()?);
    let rules = call.edit(|edit| {
        writable(call, &edit.after, property, id)?;
        edit.delete_option(id)
    });
    rules.await?;
    Ok(Reply::no_content())
}

fn writable(call: &OwnCall<'_>, catalogue: &Catalogue, property: Uuid, id: Uuid) -> Result<(), Refusal> {
    catalogue.writable_property(call.project, property)?;
    found(catalogue.option_of(property, id)).map(|_| ())
}

fn option_reply(call: &OwnCall<'_>, catalogue: &Catalogue, id: Uuid) -> Result<Reply, Refusal> {
    Ok(call.reply(shapes::option(catalogue, found(catalogue.options.get(&id))?)))
}

//! Contexts of workspace properties (chapter 15).

use super::call::{OwnCall, found};
use super::lists::Row;
use super::projects;
use crate::catalogue::{Catalogue, Context, EntryForm, shapes};
use crate::refusal::Refusal;
use crate::v2::Reply;
use std::sync::Arc;
use uuid::Uuid;

const PROPERTY: &str = "property_id";

pub(super) fn list(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    let property = found(call.listed_property(call.catalogue(), call.variable(PROPERTY)?))?.id;
    call.page(Some(property), |catalogue| {
        let row = |context: &Arc<Context>| Row {
            id: context.id,
            shape: shapes::context(catalogue, context),
            hidden: Vec::new(),
        };
        catalogue.contexts_of(property).into_iter().map(row).collect()
    })
}

pub(super) fn retrieve(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    let property = found(call.listed_property(call.catalogue(), call.variable(PROPERTY)?))?.id;
    let context = found(call.catalogue().context_of(property, call.pk()?))?;
    call.read_reply(shapes::context(call.catalogue(), context))
}

pub(super) async fn create(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    let property = call.variable(PROPERTY)?;
    call.catalogue().writable_property(call.project, property)?;
    let given = call.given_definition(EntryForm::InContext)?;
    let projects = projects::visible(call, &given).await?;
    let rules = call.edit(|edit| {
        edit.after.writable_property(call.project, property)?;
        edit.create_context(property, &given, &projects)
    });
    let (id, after) = rules.await?;
    context_reply(call, &after, id)
}

pub(super) async fn update(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    let (property, id) = (call.variable(PROPERTY)?, call.pk()?);
    writable(call, call.catalogue(), property, id)?;
    let given = call.given_definition(EntryForm::InContext)?;
    let projects = projects::visible(call, &given).await?;
    let rules = call.edit(|edit| {
        writable(call, &edit.after, property, id)?;
        edit.update_context(id, &given, &projects)
    });
    let (_, after) = rules.await?;
    context_reply(call, &after, id)
}

pub(super) async fn delete(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    let (property, id) = (call.variable(PROPERTY)?, call.pk()?);
    let rules = call.edit(|edit| {
        writable(call, &edit.after, property, id)?;
        edit.delete_context(id)
    });
    rules.await?;
    Ok(Reply::no_content())
}

fn writable(call: &OwnCall<'_>, catalogue: &Catalogue, property: Uuid, id: Uuid) -> Result<(), Refusal> {
    catalogue.writable_property(call.project, property)?;
    found(catalogue.context_of(property, id)).map(|_| ())
}

fn context_reply(call: &OwnCall<'_>, catalogue: &Catalogue, id: Uuid) -> Result<Reply, Refusal> {
    Ok(call.reply(shapes::context(catalogue, found(catalogue.contexts.get(&id))?)))
}

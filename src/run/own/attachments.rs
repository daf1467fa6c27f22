//! Properties on types (14.5).

use super::call::{OwnCall, found};
use super::properties::row;
use super::types::ids;
use crate::catalogue::{Catalogue, shapes};
use crate::refusal::Refusal;
use crate::v2::Reply;
use uuid::Uuid;

const TYPE: &str = "type_id";

/// The place of a property in the list is its place on the type, not among its owner's properties.
pub(super) fn list(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    let type_id = found(call.listed_type(call.catalogue(), call.variable(TYPE)?))?.id;
    call.page(Some(type_id), |catalogue| {
        let place =
            |property: Uuid| catalogue.attachments.get(&(type_id, property)).map_or(0.0, |link| link.sort_order);
        let attached = catalogue.attached(type_id);
        attached.iter().map(|property| row(catalogue, property, place(property.id))).collect()
    })
}

pub(super) fn retrieve(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    let type_id = found(call.listed_type(call.catalogue(), call.variable(TYPE)?))?.id;
    let id = call.pk()?;
    found(call.catalogue().attachments.get(&(type_id, id)))?;
    call.read_reply(shapes::property(call.catalogue(), found(call.catalogue().properties.get(&id))?))
}

pub(super) async fn attach(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    let type_id = call.variable(TYPE)?;
    call.catalogue().writable_type(call.project, type_id)?;
    let given = call.given()?;
    let properties = ids(given.get("properties"));
    let rules = call.edit(|edit| {
        edit.after.writable_type(call.project, type_id)?;
        edit.attach(type_id, &properties)
    });
    let (_, after) = rules.await?;
    // What it answers with has no path of its own, and so no version.
    Ok(call.reply(shapes::attachment(&after, type_id)).of_version(None))
}

pub(super) async fn detach(call: &OwnCall<'_>) -> Result<Reply, Refusal> {
    let (type_id, property) = (call.variable(TYPE)?, call.pk()?);
    let is_there = |catalogue: &Catalogue| catalogue.writable_type(call.project, type_id).map(|_| ());
    let rules = call.edit(|edit| {
        is_there(&edit.after)?;
        edit.detach(type_id, property)
    });
    rules.await?;
    Ok(Reply::no_content())
}

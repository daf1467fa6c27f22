//! Properties on types (14.5). May use: what `run` may use.

use super::call::{OwnCall, Surface, found};
use super::lists::Row;
use super::properties::rows;
use super::verbs::{CheckedBody, Records};
use crate::catalogue::{Catalogue, Edit, shapes};
use crate::refusal::Refusal;
use crate::run::members::ids;
use crate::v2::Reply;
use serde_json::{Map, Value};
use uuid::Uuid;

const TYPE: &str = "type_id";

/// Properties on a type; an attach can add several at once, a detach removes one.
pub(super) struct Attachments;

impl Records for Attachments {
    fn above(call: &OwnCall<'_>) -> Result<Option<Uuid>, Refusal> {
        Ok(Some(call.listed_type(call.variable(TYPE)?)?.id))
    }

    /// Lists properties in their order on the type, not in the order among their owner's properties.
    fn rows(_: Surface, catalogue: &Catalogue, above: Option<Uuid>) -> Vec<Row> {
        let type_id = above.unwrap_or_default();
        let place =
            |property: Uuid| catalogue.attachments.get(&(type_id, property)).map_or(0.0, |link| link.sort_order);
        let attached = catalogue.attached(type_id);
        rows(catalogue, attached.iter().map(|property| (&**property, place(property.id))).collect())
    }

    fn shown(call: &OwnCall<'_>) -> Result<Map<String, Value>, Refusal> {
        let type_id = call.listed_type(call.variable(TYPE)?)?.id;
        let id = call.job.pk()?;
        found(call.catalogue.attachments.get(&(type_id, id)))?;
        Ok(shapes::property(&call.catalogue, found(call.catalogue.properties.get(&id))?))
    }

    /// Returns all attachments of the type `id`.
    fn written(_: &OwnCall<'_>, catalogue: &Catalogue, id: Uuid) -> Result<Map<String, Value>, Refusal> {
        Ok(shapes::attachment(catalogue, id))
    }

    fn check_may_write(call: &OwnCall<'_>, catalogue: &Catalogue, _: Option<Uuid>) -> Result<(), Refusal> {
        catalogue.writable_type(call.project, call.variable(TYPE)?).map(|_| ())
    }

    fn create(call: &OwnCall<'_>, edit: &mut Edit, sent: &CheckedBody) -> Result<Uuid, Refusal> {
        let type_id = call.variable(TYPE)?;
        edit.attach(type_id, &sent.given.get("properties").map(ids).unwrap_or_default())?;
        Ok(type_id)
    }

    fn update(_: &OwnCall<'_>, _: &mut Edit, _: Uuid, _: &CheckedBody) -> Result<(), Refusal> {
        Err(Refusal::internal("a place on a type is not changed"))
    }

    fn delete(call: &OwnCall<'_>, edit: &mut Edit, id: Uuid) -> Result<(), Refusal> {
        edit.detach(call.variable(TYPE)?, id)
    }

    /// Returns the reply; its record has no path of its own, and so no version.
    fn created(call: &OwnCall<'_>, catalogue: &Catalogue, id: Uuid) -> Result<Reply, Refusal> {
        Ok(call.reply(Self::written(call, catalogue, id)?).of_version(None))
    }
}

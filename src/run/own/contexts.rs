//! Contexts of workspace properties (chapter 15). Projects that a context names must belong to the workspace, and the
//! caller must see them. A project card proves both, is cached, and costs one call. When more than a few projects are
//! named, the list of the workspace's projects proves them: one call per 1,000. May use: what `run` may use.

use super::call::{OwnCall, Surface, found};
use super::lists::Row;
use super::verbs::{CheckedBody, Records};
use crate::catalogue::{Catalogue, Context, Edit, named_projects, shapes};
use crate::refusal::Refusal;
use crate::run::members::unless_missing;
use crate::v2::body::Given;
use futures_util::future::try_join_all;
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::sync::Arc;
use uuid::Uuid;

const PROPERTY: &str = "property_id";
/// Up to this number, projects are proven by their cards.
const BY_CARD: usize = 3;

pub(super) struct Contexts;

impl Records for Contexts {
    fn above(call: &OwnCall<'_>) -> Result<Option<Uuid>, Refusal> {
        Ok(Some(call.listed_property(call.variable(PROPERTY)?)?.id))
    }

    fn rows(_: Surface, catalogue: &Catalogue, above: Option<Uuid>) -> Vec<Row> {
        let row = |context: &Arc<Context>| Row {
            id: context.id,
            shape: shapes::context(catalogue, context),
            hidden: Vec::new(),
        };
        catalogue.contexts_of(above.unwrap_or_default()).into_iter().map(row).collect()
    }

    fn shown(call: &OwnCall<'_>) -> Result<Map<String, Value>, Refusal> {
        let property = call.listed_property(call.variable(PROPERTY)?)?.id;
        Ok(shapes::context(&call.catalogue, found(call.catalogue.context_of(property, call.job.pk()?))?))
    }

    fn written(_: &OwnCall<'_>, catalogue: &Catalogue, id: Uuid) -> Result<Map<String, Value>, Refusal> {
        Ok(shapes::context(catalogue, found(catalogue.contexts.get(&id))?))
    }

    fn check_may_write(call: &OwnCall<'_>, catalogue: &Catalogue, id: Option<Uuid>) -> Result<(), Refusal> {
        let property = call.variable(PROPERTY)?;
        catalogue.writable_property(call.project, property)?;
        id.map_or(Ok(()), |id| found(catalogue.context_of(property, id)).map(|_| ()))
    }

    async fn sent(call: &OwnCall<'_>) -> Result<CheckedBody, Refusal> {
        let given = call.given_definition()?;
        let projects = visible(call, &given).await?;
        Ok(CheckedBody { given, projects })
    }

    fn create(call: &OwnCall<'_>, edit: &mut Edit, sent: &CheckedBody) -> Result<Uuid, Refusal> {
        edit.create_context(call.variable(PROPERTY)?, &sent.given, &sent.projects)
    }

    fn update(_: &OwnCall<'_>, edit: &mut Edit, id: Uuid, sent: &CheckedBody) -> Result<(), Refusal> {
        edit.update_context(id, &sent.given, &sent.projects)
    }

    fn delete(_: &OwnCall<'_>, edit: &mut Edit, id: Uuid) -> Result<(), Refusal> {
        edit.delete_context(id)
    }
}

/// Returns the named projects that the caller sees in the workspace.
async fn visible(call: &OwnCall<'_>, given: &Given) -> Result<HashSet<Uuid>, Refusal> {
    let job = call.job;
    let named: HashSet<Uuid> = named_projects(given).into_iter().collect();
    if named.len() > BY_CARD {
        return job.runner.access.visible_among(&job.call.caller, job.slug(), named, &job.call.ctx).await;
    }
    let cards = named.into_iter().map(|project| by_card(call, project));
    Ok(try_join_all(cards).await?.into_iter().flatten().collect())
}

async fn by_card(call: &OwnCall<'_>, project: Uuid) -> Result<Option<Uuid>, Refusal> {
    let job = call.job;
    let card = job.runner.access.project(&job.call.caller, job.slug(), project, &job.call.ctx).await;
    let card = unless_missing(card)?;
    Ok(card.filter(|card| card.workspace_id == call.workspace).map(|_| project))
}

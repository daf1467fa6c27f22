//! Lists of own records: built once for each version of the definitions, then filtered, ordered and paged like
//! every other list. The time for building grows with the number and size of all definitions in the workspace,
//! so it is heavy work. May use: what `run` may use.

use super::call::{OwnCall, Surface};
use super::kept_lists::{KeptRows, Key};
use crate::catalogue::Catalogue;
use crate::heavy::{Input, SMALL};
use crate::plan::{Field, Kind, Resource, ValueType};
use crate::refusal::Refusal;
use crate::run::reads::load::looking_through;
use crate::v2::record::{Cell, Record};
use crate::v2::{Reply, page, time};
use serde_json::{Map, Value};
use std::sync::Arc;
use uuid::Uuid;

/// A record before it became JSON.
pub(super) struct Row {
    pub(super) id: Uuid,
    pub(super) shape: Map<String, Value>,
    /// Values that lists use and clients do not see.
    pub(super) hidden: Vec<(&'static str, Cell)>,
}

/// Returns all records of a list, as a surface shows them, below the given record.
type Rows = fn(Surface, &Catalogue, Option<Uuid>) -> Vec<Row>;

impl OwnCall<'_> {
    /// Answers with a page of the list that `rows` builds from the definitions; `within` is the record above it, if
    /// any.
    pub(super) async fn page(&self, within: Option<Uuid>, rows: Rows) -> Result<Reply, Refusal> {
        let job = self.job;
        let list = job.list_call()?;
        let kept = self.kept(within, rows).await?;
        let size = looking_through(kept.rows.len(), kept.size, &list);
        let look = move || page::answer(kept.rows.iter(), &list);
        Ok(Reply::json(200, job.runner.heavy.run(Input::Own, size, &job.call.ctx, look).await?))
    }

    /// Returns the cached list for these definitions, or builds it.
    async fn kept(&self, within: Option<Uuid>, rows: Rows) -> Result<KeptRows, Refusal> {
        let job = self.job;
        let resource = job.operation().resource;
        let key = Key { resource, workspace: self.workspace, project: self.project, within };
        let lists = &job.runner.own_lists.0;
        if let Some(kept) = lists.get(&key).filter(|kept| kept.version == self.catalogue.version) {
            return Ok(kept);
        }
        let (runner, of, surface) = (Arc::clone(&job.runner), Arc::clone(&self.catalogue), self.surface());
        let build = move || {
            let resource = &runner.plan.resources[resource];
            let rows: Arc<[Record]> =
                rows(surface, &of, within).into_iter().map(|row| record(resource, row)).collect();
            let size = rows.iter().map(|row| row.json.len()).sum();
            KeptRows { version: of.version, rows, size }
        };
        // The size is not known yet. The build may run on another thread; it happens once for each edit.
        let kept = job.runner.heavy.run(Input::Own, SMALL + 1, &job.call.ctx, build).await?;
        lists.insert(key, kept.clone());
        Ok(kept)
    }
}

fn record(resource: &Resource, row: Row) -> Record {
    let cells = resource.cells.iter().map(|&index| {
        let field = &resource.fields[index];
        let hidden = row.hidden.iter().find(|(name, _)| *name == field.name);
        hidden.map_or_else(|| cell(field, &row.shape[&field.name]), |(_, cell)| cell.clone())
    });
    let cells = cells.collect();
    Record { id: row.id, json: Value::Object(row.shape).to_string().into(), cells, expansions: Box::new([]) }
}

/// Converts a value of the read shape into the form that lists compare.
fn cell(field: &Field, value: &Value) -> Cell {
    match (field.value, value) {
        (ValueType::One(Kind::Uuid), Value::String(text)) => Uuid::try_parse(text).map_or(Cell::Null, Cell::Id),
        (ValueType::One(Kind::DateTime), Value::String(text)) => {
            time::read_instant(text).map_or(Cell::Null, Cell::Instant)
        }
        (_, Value::String(text)) => Cell::Text(text.as_str().into()),
        (_, Value::Number(number)) => number.as_f64().map_or(Cell::Null, Cell::Number),
        (_, Value::Bool(flag)) => Cell::Bool(*flag),
        _ => Cell::Null,
    }
}

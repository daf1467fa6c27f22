//! The complete v1 collection of a resource, translated, with the overlay applied.

use super::job::{Job, Runner};
use super::shelf::Loaded;
use crate::context::Context;
use crate::heavy::Input;
use crate::plan::{Keep, Resource, Rows};
use crate::refusal::Refusal;
use crate::store::OverlayValue;
use crate::translate::{Fault, Held, ReadShape, incoming};
use crate::v1::{ReadFailure, V1Response};
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;
use uuid::Uuid;

/// Overlay values by record.
pub type Overlays = HashMap<Uuid, Vec<OverlayValue>>;

/// All records of a collection, in v1's order.
#[derive(Debug, Default)]
pub struct Collection {
    rows: Vec<Arc<Held>>,
    by_id: HashMap<Uuid, usize>,
}

impl Collection {
    /// Keeps `rows` in their order.
    pub fn new(rows: Vec<Arc<Held>>) -> Self {
        let by_id = rows.iter().enumerate().map(|(index, held)| (held.record.id, index)).collect();
        Self { rows, by_id }
    }

    /// The record with `id`.
    pub fn get(&self, id: Uuid) -> Option<&Arc<Held>> {
        self.by_id.get(&id).map(|&index| &self.rows[index])
    }

    /// All records.
    pub fn rows(&self) -> &[Arc<Held>] {
        &self.rows
    }

    /// The collection with `changed` in place of the records of the same ids, new ones first.
    pub fn with(&self, changed: &[Held]) -> Self {
        let mut rows = self.rows.clone();
        for held in changed {
            match self.by_id.get(&held.record.id) {
                Some(&index) => rows[index] = Arc::new(held.clone()),
                None => rows.insert(0, Arc::new(held.clone())),
            }
        }
        Self::new(rows)
    }

    /// The collection without the record `id`.
    pub fn without(&self, id: Uuid) -> Self {
        Self::new(self.rows.iter().filter(|held| held.record.id != id).cloned().collect())
    }
}

impl Job {
    /// The collection of `resource` below this call's variables, kept or read.
    pub(super) async fn load(&self, resource: &Resource) -> Result<Loaded<Collection>, Refusal> {
        let place = self.place_of(resource)?;
        let read = || self.reading(resource.name.clone());
        let loaded = self.load_from(&self.runner.collections, &place, read).await;
        loaded.map_err(|refusal| self.after_refused_read(refusal))
    }

    /// The collection as a read shows it that began after `asked`, whatever is kept.
    pub(super) async fn load_since(
        &self,
        resource: &Resource,
        asked: Instant,
    ) -> Result<Loaded<Collection>, Refusal> {
        let place = self.place_of(resource)?;
        let read = || self.reading(resource.name.clone());
        let loaded = self.runner.collections.load_since(&place, self.audience()?, asked, read).await;
        loaded.map_err(|refusal| self.after_refused_read(refusal))
    }

    /// A read that shares its work with others: owns everything it needs.
    fn reading(&self, resource: String) -> impl Future<Output = Result<Collection, Refusal>> + Send + 'static {
        let runner = Arc::clone(&self.runner);
        let (key, ctx) = (self.key().clone(), self.shared_ctx());
        let card = self.call.card.clone();
        let resource =
            self.runner.plan.resource(&resource).map(|resource| resource.name.clone()).unwrap_or_default();
        let path = self.runner.plan.resource(&resource).map(|resource| self.collection_path(resource));
        async move {
            let index = runner.plan.resources.iter().position(|known| known.name == resource);
            let index = index.ok_or_else(|| Refusal::internal("an unknown resource"))?;
            let resource = &runner.plan.resources[index];
            let path = path.ok_or_else(|| Refusal::internal("no path"))??;
            let v1 = resource.v1.as_ref().ok_or_else(|| Refusal::internal("a read without v1"))?;
            let pages = runner.client.read_all(&key, &path, &v1.list_query, &ctx).await.map_err(refused_read)?;
            let workspace = card.map_or(Uuid::nil(), |card| card.workspace_id);
            let mut rows = translated(&runner, index, v1.rows, pages, &ctx).await?;
            let shape = &runner.shapes[index];
            let ids: Vec<Uuid> = rows.iter().map(|held| held.record.id).collect();
            let overlays = overlays_of(&runner.store, resource, workspace, &ids).await?;
            for held in &mut rows {
                if let Some(overlay) = overlays.get(&held.record.id) {
                    *held = overlaid(shape, held, overlay).map_err(|fault| bad_data(&fault))?;
                }
            }
            Ok(Collection::new(rows.into_iter().map(Arc::new).collect()))
        }
    }

    /// A read that v1 refuses although the card allows it: the card is out of date.
    pub(super) fn after_refused_read(&self, refusal: Refusal) -> Refusal {
        match (&refusal, &self.call.card) {
            (Refusal::Unauthorized { .. }, _) => self.runner.access.forget_identity(self.key().id()),
            (Refusal::NotFound { .. } | Refusal::Forbidden { .. }, Some(card)) => {
                self.runner.access.forget_project(card.id);
            }
            _ => {}
        }
        refusal
    }

    /// Translates one v1 record with the overlay kept for it.
    pub(super) async fn translate_record(&self, resource: &Resource, row: &[u8]) -> Result<Held, Refusal> {
        let text = std::str::from_utf8(row).map_err(|fault| bad_data(&Fault(fault.to_string())))?;
        let shape = self.shape_of(resource)?;
        let workspace = self.call.card.as_ref().map_or(Uuid::nil(), |card| card.workspace_id);
        let plain = shape.read(text, &[]).map_err(|fault| bad_data(&fault))?;
        let overlays = overlays_of(&self.runner.store, resource, workspace, &[plain.record.id]).await?;
        match overlays.get(&plain.record.id) {
            Some(overlay) => shape.read(text, overlay).map_err(|fault| bad_data(&fault)),
            None => Ok(plain),
        }
    }
}

/// Overlay values of these records; none are looked up where the mapping keeps none.
pub(super) async fn overlays_of(
    store: &crate::store::Store,
    resource: &Resource,
    workspace: Uuid,
    records: &[Uuid],
) -> Result<Overlays, Refusal> {
    if records.is_empty() || resource.fields.iter().all(|field| field.keep == Keep::V1) {
        return Ok(Overlays::new());
    }
    Ok(store.overlay_of_records(workspace, &resource.name, records).await?)
}

/// The records of all pages, translated on the pool for heavy work when the pages are not small.
async fn translated(
    runner: &Arc<Runner>,
    resource: usize,
    form: Rows,
    pages: Vec<Bytes>,
    ctx: &Context,
) -> Result<Vec<Held>, Refusal> {
    let size = pages.iter().map(Bytes::len).sum();
    let shapes = Arc::clone(runner);
    let translate = move || translate(&shapes.shapes[resource], form, &pages);
    runner.heavy.run(Input::Own, size, ctx, translate).await?.map_err(|fault| bad_data(&fault))
}

fn translate(shape: &ReadShape, form: Rows, pages: &[Bytes]) -> Result<Vec<Held>, Fault> {
    let mut held = Vec::new();
    for page in pages {
        for row in incoming::rows(form, page)? {
            held.push(shape.read(row.get(), &[])?);
        }
    }
    Ok(held)
}

/// The record read again with what is kept for it.
fn overlaid(shape: &ReadShape, held: &Held, overlay: &[OverlayValue]) -> Result<Held, Fault> {
    let row = std::str::from_utf8(&held.v1).map_err(|fault| Fault(fault.to_string()))?;
    shape.read(row, overlay)
}

/// A page of a list that v1 refused: the card said the project is visible, so it no longer is.
pub(super) fn refused_read(failure: ReadFailure) -> Refusal {
    match failure {
        ReadFailure::Answered(V1Response { status: 403 | 404, .. }) => Refusal::not_found(),
        other => other.into(),
    }
}

/// v1 data that cannot be translated.
pub(super) fn bad_data(fault: &Fault) -> Refusal {
    Refusal::upstream("The service behind answered with data that does not fit its own interface.", fault)
}

//! Reads the complete v1 collection of a resource, translated, with the overlay applied. May use: what `run` may use.

use super::shortage::Reading;
use super::{flagged, outdated};
use crate::boxed::boxed;
use crate::context::Context;
use crate::fresh::{Changed, Kept};
use crate::heavy::Input;
use crate::plan::{Resource, Rows};
use crate::refusal::Refusal;
use crate::run::job::Job;
use crate::run::kept::collection::{Asked, Collection};
use crate::run::kept::shelf::{Place, Shelved};
use crate::run::members::{bad_data, refused_read};
use crate::run::rules;
use crate::run::runner::Runner;
use crate::store::{OverlayValue, Overlays};
use crate::translate::{Fault, Held, incoming};
use crate::units::now_micros;
use crate::v1::{V1Request, V1Response};
use crate::v2::query::ListCall;
use crate::v2::{Reply, page};
use bytes::Bytes;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Bytes of records that a search reads in the time in which other heavy work handles one byte.
const SEARCHED: usize = 8;
/// Cost of filtering and ordering one record, in bytes of other heavy work.
const ROW: usize = 16;
/// Bytes of records that are copied into an answer in the time in which other heavy work handles one byte.
const COPIED: usize = 64;

/// Returns the cost of answering `call` from this many records and bytes, in bytes of other heavy work.
pub(in crate::run) fn looking_through(records: usize, bytes: usize, call: &ListCall) -> usize {
    let each = if call.search.is_some() { SEARCHED } else { COPIED };
    records * ROW + bytes / each
}

pub(in crate::run) fn records_of<T: DeserializeOwned>(page: &[u8]) -> Result<Vec<T>, Refusal> {
    incoming::records(page).map_err(|fault| bad_data(&fault))
}

/// Records in a page: the most that v1 returns.
pub(in crate::run) const AT_ONCE: usize = 1000;

impl Job {
    /// Reads the first page of a v1 list in a project, in the order and with the fields that `query` names.
    pub(in crate::run) async fn first_page(&self, resource: &Resource, query: &str) -> Result<V1Response, Refusal> {
        let request = V1Request::get(self.collection_path(resource)?, format!("per_page={AT_ONCE}&{query}"));
        let answer = self.runner.client.ask(self.key(), request, &self.call.ctx).await;
        let answer = self.explain_refused_read(answer).await?;
        match answer.status {
            200 => Ok(answer),
            _ => Err(self.after_refused_read(Refusal::not_found()).await),
        }
    }

    /// Reads all records of a v1 list, each as a `T`.
    pub(in crate::run) async fn all_records<T: DeserializeOwned>(
        &self,
        resource: &Resource,
        query: &str,
    ) -> Result<Vec<T>, Refusal> {
        let path = self.collection_path(resource)?;
        let pages = self.runner.client.read_all(self.key(), &path, query, &self.call.ctx).await?;
        let mut all = Vec::new();
        for page in &pages {
            all.extend(records_of(page)?);
        }
        Ok(all)
    }

    /// Returns the page of a collection that `call` asks for; a large collection is searched on the pool for heavy
    /// work.
    pub(in crate::run) async fn page_of(&self, all: Arc<Collection>, call: ListCall) -> Result<Reply, Refusal> {
        let size = looking_through(all.rows().len(), all.size, &call);
        let (asked, parameters) = (self.asked(), self.call.parameters.clone());
        let look = move || {
            let body = page::answer(all.rows().iter().map(|held| &held.record), &call);
            all.ready.answer(asked, &parameters, body)
        };
        self.runner.heavy.run(Input::Own, size, &self.call.ctx, look).await
    }

    fn asked(&self) -> Asked {
        (self.call.operation, self.runner.settings.strict_query)
    }

    /// Returns the cached page for this call, if the same was asked a moment ago.
    pub(in crate::run) fn ready_page(&self) -> Option<Reply> {
        let (place, usual) = (self.place_of(self.resource()).ok()?, self.runner.settings.cache.collection);
        let kept = self.runner.collections.kept_within(&place, self.audience().ok()?, usual)?;
        let kept = Some(kept).filter(|kept| kept.value.counts_for(self.key().id()))?;
        let reply = kept.value.ready.get(self.asked(), &self.call.parameters)?;
        // Looked for within the usual age, whatever the time is by now.
        self.call.ctx.meter.used(kept.began.at);
        Some(reply)
    }

    /// Returns the collection of `resource` below this call's variables, cached or read.
    pub(in crate::run) async fn load(&self, resource: &Resource) -> Result<Kept<Arc<Collection>>, Refusal> {
        let (place, all) = (self.place_of(resource)?, &self.runner.collections);
        let read = |how| self.reading(resource, how);
        self.whole(&place, || self.load_from(all, &place, read)).await
    }

    /// Drops the cached collection if it shows the record `id`, which v1 has just answered with 404.
    pub(in crate::run) fn doubt_kept(&self, id: Uuid) {
        let (Ok(place), Ok(audience)) = (self.place_of(self.resource()), self.audience()) else { return };
        let kept = self.runner.collections.kept_within(&place, audience, Duration::MAX);
        if kept.is_some_and(|kept| kept.value.get(id).is_some()) {
            self.runner.changes.tell(place.itself());
        }
    }

    /// Drops the cached collection, also during a write that has it in hand: v1 has just answered with 404 for a record
    /// that it showed before. An index that shows it becomes stale.
    pub(in crate::run) fn drop_kept(&self) {
        if let Ok(place) = self.place_of(self.resource()) {
            self.runner.changes.tell(place.itself());
        }
        if let (Some(within), Ok(id)) = (self.in_project(), self.pk()) {
            within.doubt_row(id);
        }
    }

    /// Returns the collection from a read that began after `asked`, without using caches.
    pub(in crate::run) async fn load_since(
        &self,
        resource: &Resource,
        asked: Instant,
    ) -> Result<Kept<Arc<Collection>>, Refusal> {
        let (place, all) = (self.place_of(resource)?, &self.runner.collections);
        let read = |how| self.reading(resource, how);
        self.whole(&place, || self.read_since(all, &place, asked, read)).await
    }

    /// Returns the result of `load` for `place`; a read never gets half of a write. A write holds a place itself.
    async fn whole<F>(&self, place: &Place, load: impl Fn() -> F) -> Result<Kept<Arc<Collection>>, Refusal>
    where
        F: Future<Output = Result<Kept<Arc<Collection>>, Refusal>>,
    {
        match self.operation().method.writes() {
            true => load().await,
            false => boxed(|| self.runner.collections.whole(place, load)).await,
        }
    }

    /// Returns a read that can be shared: it owns everything it needs.
    fn reading(
        &self,
        resource: &Resource,
        how: Reading,
    ) -> impl Future<Output = Result<Collection, Refusal>> + Send + use<> {
        let runner = Arc::clone(&self.runner);
        let (key, ctx, older) = (self.key().clone(), self.ctx_of(how), how.older);
        let (card, caller, slug) = (self.call.card().cloned(), self.call.caller.clone(), self.slug().to_owned());
        let (index, path) = (self.index_of(resource), self.collection_path(resource));
        let variables = self.call.variables.clone();
        async move {
            let (index, path) = (index?, path?);
            let resource = &runner.plan.resources[index];
            let v1 = resource.v1.as_ref().ok_or_else(|| Refusal::internal("a read without v1"))?;
            let began = now_micros();
            let pages = runner.client.read_all(&key, &path, &v1.list_query, &ctx).await.map_err(refused_read)?;
            let workspace = match &card {
                Some(card) => card.workspace_id,
                None if resource.keeps_values() => runner.access.workspace_id(&caller, &slug, &ctx).await?,
                None => Uuid::nil(),
            };
            let mut rows = translated(&runner, index, v1.rows, pages, &ctx).await?;
            // A required record of the list, such as a work item, is proof enough.
            let for_all = match card.filter(|_| rows.is_empty() && resource.requires.is_none()) {
                Some(card) => runner.prove_empty(&caller, &slug, card.id, Instant::now(), older, &ctx).await?,
                None => true,
            };
            let shape = &runner.shapes[index];
            let ids: Vec<Uuid> = rows.iter().map(|held| held.record.id).collect();
            let overlays = overlays_of(&runner.store, resource, workspace, &ids).await?;
            let mut changed_on_v1 = Vec::new();
            for held in &mut rows {
                if let Some(overlay) = overlays.get(&held.record.id) {
                    let read = incoming::text(&held.v1).and_then(|text| shape.read_over(text, overlay));
                    let (over, outdated) = read.map_err(|fault| bad_data(&fault))?;
                    changed_on_v1.push((over.record.id, outdated));
                    *held = over;
                }
            }
            rows.iter().try_for_each(|held| rules::check_place(resource, &variables, held))?;
            outdated::remove(&runner, resource, workspace, changed_on_v1, began);
            if let Some(rule) = &resource.exclusive {
                for (at, text) in flagged::corrections(resource, rule, &rows) {
                    let overlay = overlays.get(&rows[at].record.id).map_or(&[][..], Vec::as_slice);
                    rows[at].record = shape.read(&text, overlay).map_err(|fault| bad_data(&fault))?.record;
                }
            }
            let collection = Collection::new(rows.into_iter().map(Arc::new).collect());
            Ok(if for_all { collection } else { collection.of(key.id()) })
        }
    }

    /// Returns the record `id` from the second list of its resource, which is read each time. v1 answers 404 at the
    /// path of an archived module (`modules_archived_get`) and lists it separately (`modules_archived_list`; O59).
    pub(in crate::run) async fn find_further(&self, id: Uuid) -> Result<Option<Held>, Refusal> {
        let Some((v1, template)) = self.resource().v1.as_ref().and_then(|v1| Some((v1, v1.also_in.as_ref()?)))
        else {
            return Ok(None);
        };
        let path = self.fill(Some(template), None)?;
        let began = now_micros();
        let pages = self.runner.client.read_all(self.key(), &path, &v1.list_query, &self.call.ctx).await?;
        let wanted = id.to_string();
        for page in &pages {
            for row in incoming::rows(v1.rows, page).map_err(|fault| bad_data(&fault))? {
                if row.get().contains(&wanted) {
                    let (held, outdated) = self.translate_with_overlay(row.get().as_bytes()).await?;
                    if held.record.id == id {
                        self.remove_outdated(id, outdated, began).await;
                        return Ok(Some(held));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Returns the index of the resource in the plan, and of its shape in the runner.
    fn index_of(&self, resource: &Resource) -> Result<usize, Refusal> {
        let index = self.runner.plan.resources.iter().position(|known| known.name == resource.name);
        index.ok_or_else(|| Refusal::internal("a resource that is not in the plan"))
    }

    /// Returns the result of a read, or the meaning of v1's refusal.
    pub(in crate::run) async fn explain_refused_read<T>(&self, read: Result<T, Refusal>) -> Result<T, Refusal> {
        match read {
            Ok(found) => Ok(found),
            Err(refusal) => Err(self.after_refused_read(refusal).await),
        }
    }

    /// Returns the meaning of a read that v1 refuses although the card allows it: the card is out of date.
    pub(in crate::run) async fn after_refused_read(&self, refusal: Refusal) -> Refusal {
        match refusal {
            Refusal::NotFound { .. } | Refusal::Forbidden { .. } => self.by_new_card(refusal).await,
            Refusal::Unauthorized { .. } => {
                self.runner.access.forget_identity(self.key().id());
                refusal
            }
            other => other,
        }
    }

    /// Reads the project card again and returns the refusal that it gives; `refusal` when the caller is still a member.
    /// v1 answers 403 both for an invisible project, which is 404 here, and for one without membership (trap 2).
    pub(in crate::run) async fn by_new_card(&self, refusal: Refusal) -> Refusal {
        let Some(card) = self.call.card() else { return refusal };
        self.prove_anew(card.id).await.err().unwrap_or(refusal)
    }

    /// Checks with a new card that the caller is a member of the project.
    pub(in crate::run) async fn prove_anew(&self, project: Uuid) -> Result<(), Refusal> {
        self.runner.changes.tell(Changed::ProjectAccess(project));
        let card = self.runner.access.project(&self.call.caller, self.slug(), project, &self.call.ctx).await?;
        card.require_member().map(drop)
    }

    /// Translates one v1 record with its overlay, on the pool for heavy work when it is not small.
    pub(in crate::run) async fn translate_record(&self, row: &[u8]) -> Result<Held, Refusal> {
        self.translate_with_overlay(row).await.map(|(held, _)| held)
    }

    /// Does the same, and also returns the overlay values that are outdated if `row` is how v1 shows the record now.
    pub(in crate::run) async fn translate_with_overlay(
        &self,
        row: &[u8],
    ) -> Result<(Held, Vec<OverlayValue>), Refusal> {
        let text: Arc<str> = incoming::text(row).map_err(|fault| bad_data(&fault))?.into();
        let (resource, index) = (self.resource(), self.operation().resource);
        let workspace = if resource.keeps_values() { self.workspace_id().await? } else { Uuid::nil() };
        let read = async |overlay: Vec<OverlayValue>| {
            let (runner, text) = (Arc::clone(&self.runner), Arc::clone(&text));
            let read = move || runner.shapes[index].read_over(&text, &overlay);
            let over = self.runner.heavy.run(Input::Own, row.len(), &self.call.ctx, read).await?;
            over.map_err(|fault| bad_data(&fault))
        };
        let plain = read(Vec::new()).await?;
        let id = plain.0.record.id;
        let mut overlays = overlays_of(&self.runner.store, resource, workspace, &[id]).await?;
        match overlays.remove(&id) {
            Some(overlay) => read(overlay).await,
            None => Ok(plain),
        }
    }
}

/// Returns the overlay values of these records; there is no look-up where the mapping keeps none.
pub(in crate::run) async fn overlays_of(
    store: &crate::store::Store,
    resource: &Resource,
    workspace: Uuid,
    records: &[Uuid],
) -> Result<Overlays, Refusal> {
    if records.is_empty() || !resource.keeps_values() {
        return Ok(Overlays::new());
    }
    Ok(store.overlay_of_records(workspace, &resource.name, records).await?)
}

/// Translates the records of all pages, on the pool for heavy work when the pages are not small.
async fn translated(
    runner: &Arc<Runner>,
    resource: usize,
    form: Rows,
    pages: Vec<Bytes>,
    ctx: &Context,
) -> Result<Vec<Held>, Refusal> {
    let size = pages.iter().map(Bytes::len).sum();
    let shapes = Arc::clone(runner);
    let translate = move || {
        let mut held = Vec::new();
        for page in &pages {
            held.extend(shapes.shapes[resource].read_page(form, page)?);
        }
        Ok::<_, Fault>(held)
    };
    runner.heavy.run(Input::Own, size, ctx, translate).await?.map_err(|fault| bad_data(&fault))
}

//! One work item for the other steps: whether it is live, its data, and its children.
//!
//! v1 hides archived, draft and triage items from every read, but PATCH and comments still reach them (traps 36,
//! 37, 53). So an item is always read before it is written to. May use: what `run` may use.

use crate::fresh::Changed;
use crate::index::{Index, Scope};
use crate::plan::{Known, Resource};
use crate::refusal::Refusal;
use crate::run::job::{InProject, Job};
use crate::run::kept::shelf::Audience;
use crate::run::members::bad_data;
use crate::run::reads::load::AT_ONCE;
use crate::run::reads::outage::{Answered, ItemAnswer};
use crate::run::writes::write::same_record;
use crate::translate::work_items::{self, Item};
use crate::v1::{Doubt, V1Request, V1Response, refusal_of_status};
use crate::v2::time::Micros;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::time::Instant;
use uuid::Uuid;

/// Share of the remaining time that may pass until the index of a project is as of now.
const FOR_AN_INDEX: f64 = 0.25;

/// A page of items, latest change first.
#[derive(Deserialize)]
struct ChangesPage {
    total_count: usize,
    results: Vec<ParentChange>,
}

/// Parent of an item, and time of its last change.
#[derive(Deserialize)]
struct ParentChange {
    id: Uuid,
    #[serde(deserialize_with = "crate::v1::present")]
    parent: Option<Uuid>,
    #[serde(deserialize_with = "work_items::instant")]
    updated_at: Micros,
}

impl Job {
    pub(in crate::run) fn work_items(&self) -> Result<&Resource, Refusal> {
        self.resource_named(Known::WorkItems)
    }

    pub(in crate::run) fn item_of(&self, body: &[u8]) -> Result<Item, Refusal> {
        let text = std::str::from_utf8(body).map_err(Refusal::internal)?;
        let mut item = work_items::read(text).map_err(|fault| bad_data(&fault))?;
        self.take_deleted_labels(&mut item);
        Ok(item)
    }

    /// Reads the item in a success of v1, which was not checked before.
    pub(in crate::run) fn item_in(&self, answer: &V1Response) -> Result<Item, Refusal> {
        self.item_of(&answer.body).map_err(|fault| refusal_of_status(answer).unwrap_or(fault))
    }

    pub(in crate::run) fn item_from(&self, members: &Map<String, Value>) -> Result<Item, Refusal> {
        let mut item = work_items::read_members(members).map_err(|fault| bad_data(&fault))?;
        self.take_deleted_labels(&mut item);
        Ok(item)
    }

    /// Removes labels that were deleted through the gateway but that v1 has not cleaned up yet.
    pub(in crate::run) fn take_deleted_labels(&self, item: &mut Item) {
        item.labels.retain(|label| !self.runner.deleted_labels.contains(*label));
    }
}

impl InProject<'_> {
    /// Reads the live item `id` of this project from v1.
    ///
    /// # Errors
    /// 404 for an item that is absent, archived, a draft, in triage or of another project.
    pub(in crate::run) async fn read_item(&self, id: Uuid) -> Result<Item, Refusal> {
        let path = self.record_path(self.work_items()?, id)?;
        let request = V1Request::get(path, work_items::WHOLE);
        let seen = self.explain_refused_read(self.ask_item(request, id).await).await?;
        let answer = match seen {
            ItemAnswer::Answer(Answered::Read(item)) => {
                same_record(item.id, id)?;
                return Ok(*item);
            }
            ItemAnswer::Answer(Answered::Otherwise(answer)) => answer,
            ItemAnswer::Row(item) => return Box::pin(self.with_live_labels(*item)).await,
        };
        match answer.status {
            // The project exists, as its card said; the item does not (`items_get_random`, `archived_get`).
            404 => {
                self.doubt_row(id);
                crate::run::items::fields::note_absence(self, id).await;
                Err(Refusal::not_found())
            }
            403 => Err(self.after_refused_read(Refusal::not_found()).await),
            status => Err(Refusal::upstream("The work item could not be read.", format!("status {status}"))),
        }
    }

    /// Returns the live item `id`: from a fresh index if there is one, else read from v1.
    pub(in crate::run) async fn live_item(&self, id: Uuid) -> Result<Item, Refusal> {
        match self.item_in_fresh_index(id) {
            Some(item) => Ok(item),
            None => self.read_item(id).await,
        }
    }

    /// Returns the row of a fresh index, which proves that the item is live; for reads while v1's quota is short, of an
    /// older index.
    pub(in crate::run) fn item_in_fresh_index(&self, id: Uuid) -> Option<Item> {
        let (scope, indexes) = (self.index_scope().ok()?, &self.runner.indexes);
        if let Some(index) = indexes.peek(&scope) {
            return index.get(id);
        }
        let kept = self.is_short().then(|| indexes.kept_within(&scope, self.runner.settings.cache.stretch));
        let kept = kept.flatten()?;
        let item = kept.value.get(id)?;
        self.uses(kept.began.at, Instant::now(), indexes.settings().freshness);
        Some(item)
    }

    /// Makes the index of the project stale if it shows the item, which v1 has just answered with 404. Otherwise a write
    /// would go on with the row: v1 accepts writes to items that it does not show (traps 36, 53).
    pub(in crate::run) fn doubt_row(&self, id: Uuid) {
        let is_shown = |scope: Scope| self.runner.indexes.peek(&scope).is_some_and(|index| index.get(id).is_some());
        if self.index_scope().is_ok_and(is_shown) {
            self.runner.changes.tell(Changed::WorkItems(self.card.id));
        }
    }

    /// Returns the scope of the index with the items of this call's project, for this caller's audience.
    pub(in crate::run) fn index_scope(&self) -> Result<Scope, Refusal> {
        let card = self.card;
        let path = self.collection_path(self.work_items()?)?;
        let members = self.audience()? == Audience::Members;
        Ok(Scope { workspace: self.slug().into(), project: card.id, path: path.into(), members })
    }

    /// Returns the item after an update, from v1's answer; reads it again when the answer is not a whole item.
    ///
    /// # Errors
    /// [`Refusal::OutcomeUnknown`] when it cannot be read.
    pub(in crate::run) async fn item_after(&self, id: Uuid, answer: &Map<String, Value>) -> Result<Item, Refusal> {
        if let Ok(item) = self.item_from(answer) {
            return Ok(item);
        }
        let doubt = Doubt::answered("The service behind answered the update with half a record.", "no work item");
        let record = self.read_record(id).await.map_err(|_| doubt.refusal())?;
        self.item_from(&record)
    }

    /// Notes the state of an item after a write through the gateway, for the next read.
    pub(in crate::run) fn item_changed(&self, item: &Item) {
        self.runner.indexes.note_change(self.card.id, item);
    }

    /// Notes that a write through the gateway removed the item.
    pub(in crate::run) fn item_gone(&self, id: Uuid) {
        self.runner.indexes.note_removal(self.card.id, id);
    }

    /// Returns the live items directly below `id`, as of now: by a delta of the index, or by a walk through the list.
    pub(in crate::run) async fn children_of(&self, id: Uuid) -> Result<Vec<Uuid>, Refusal> {
        let scope = self.index_scope()?;
        if !self.runner.indexes.is_built(&scope) {
            return self.walk_for_children(id).await;
        }
        // An index a few seconds old is not enough: a child that is missed is deleted with its parent (trap 39).
        let indexes = &self.runner.indexes;
        let newest = || indexes.newest(&scope, self.key(), &self.call.ctx);
        let patience = self.call.ctx.remaining().mul_f64(FOR_AN_INDEX);
        let index = match tokio::time::timeout(patience, newest()).await {
            Ok(Err(Refusal::IndexBuilding { .. } | Refusal::KeptChanging { .. })) | Err(_) => {
                match indexes.of_any_age(&scope) {
                    Some(index) => return self.children_by_changes(id, &index).await,
                    None => newest().await,
                }
            }
            Ok(index) => index,
        };
        Ok(self.explain_refused_read(index).await?.children(id).into_iter().map(|item| item.id).collect())
    }

    /// Returns the live items directly below `id`, by an older index and the changes since. Items deleted since may be
    /// among them, which does no harm here; excluding them would need all ids, which takes long in a large project.
    /// When one page does not show all changes, every item is read.
    async fn children_by_changes(&self, id: Uuid, index: &Index) -> Result<Vec<Uuid>, Refusal> {
        let query = "order_by=-updated_at&fields=id,parent,updated_at";
        let answer = self.first_page(self.work_items()?, query).await?;
        let page: ChangesPage = serde_json::from_slice(&answer.body)
            .map_err(|fault| Refusal::upstream("The work items could not be read.", fault.to_string()))?;
        let reaches =
            page.results.len() < AT_ONCE || page.results.iter().any(|row| row.updated_at <= index.known_until());
        let new = page.results.iter().filter(|row| index.get(row.id).is_none()).count();
        // More items than expected: an item came back that does not show as changed.
        if !reaches || page.total_count > index.len() + new {
            return self.walk_for_children(id).await;
        }
        let mut children: HashSet<Uuid> = index.children(id).into_iter().map(|item| item.id).collect();
        for row in page.results {
            match row.parent == Some(id) {
                true => children.insert(row.id),
                false => children.remove(&row.id),
            };
        }
        Ok(children.into_iter().collect())
    }

    /// Reads the whole list for the children of `id`, which must still be live then.
    async fn walk_for_children(&self, id: Uuid) -> Result<Vec<Uuid>, Refusal> {
        #[derive(Deserialize)]
        struct Row {
            id: Uuid,
            #[serde(deserialize_with = "crate::v1::present")]
            parent: Option<Uuid>,
        }
        let resource = self.work_items()?;
        let rows: Vec<Row> = self.all_records(resource, "fields=id,parent").await?;
        // v1 also deletes an item that was archived during the walk.
        if !rows.iter().any(|row| row.id == id) {
            self.read_item(id).await?;
        }
        Ok(rows.into_iter().filter(|row| row.parent == Some(id)).map(|row| row.id).collect())
    }
}

//! Versions of records, `If-Match` and `If-None-Match`: a write that demands a version, or any other than one, is
//! carried out only on such a one.
//!
//! The record is compared as it is now, so a request with the header reads it once more; requests without it cost
//! nothing. The order of refusals: absent 404, role and mode 403 and 409 of the own store, then 412, then what is wrong
//! with the body. v1 itself knows no conditions: between the look and the write of this gateway nobody else writes
//! through it, because the look happens inside the writers' order; a write past the gateway in that moment is not seen.
//! Definitions of the own store are compared once more inside the transaction that changes them.
//!
//! May use: what `run` may use.

use crate::plan::{Known, Special, Step};
use crate::refusal::Refusal;
use crate::run::items::fields::{Looking, settle_open_writes};
use crate::run::job::{InProject, Job};
use crate::run::reads::list;
use crate::run::rules;
use crate::store::{ItemValues, ProjectItems};
use crate::translate::work_items::{Item, version_of};
use crate::v2::{Parameters, tag};
use std::collections::BTreeMap;
use std::time::Instant;
use uuid::Uuid;

impl Job {
    /// Refuses the write when it demands another version than v1 shows now. To be called by whoever carries
    /// a write out, when it is this write's turn.
    ///
    /// # Errors
    /// 412; 404 when there is no such record; faults of the read.
    pub(in crate::run) async fn hold_precondition(&self) -> Result<(), Refusal> {
        let Some(condition) = &self.condition else { return Ok(()) };
        let Some(showing) = self.runner.plan.showing(self.operation()) else { return Ok(()) };
        if self.is_own() {
            // Compared after role and mode, and again inside the transaction.
            return Ok(());
        }
        let version = match Box::pin(self.as_operation(showing, Parameters::default()).version_now()).await {
            // v1 shows no archived item, so an item that is to be brought back cannot be compared.
            Err(Refusal::NotFound { .. }) if self.brings_back() => None,
            outcome => outcome?,
        };
        let Some(header) = condition.as_ref().map_err(Clone::clone)?.unmet(version.as_deref()) else {
            return Ok(());
        };
        if self.operation().may.is_some() {
            let record = Box::pin(list::read_addressed_record(self)).await?;
            Box::pin(rules::may_write(self, &record)).await?;
        }
        Err(failed(header))
    }

    fn brings_back(&self) -> bool {
        self.operation().step == Step::Special(Special::WorkItemUnarchive)
    }

    /// The version that this read's record has at v1 now, past everything that is kept.
    async fn version_now(self) -> Result<Option<String>, Refusal> {
        if let Some(within) = self.in_project().filter(|_| self.resource().is(Known::WorkItems)) {
            return within.item_version_now().await;
        }
        let resource = self.resource();
        let collection = resource.v1.as_ref().is_some_and(|v1| v1.collection.is_some());
        if collection && !resource.reads_alone() {
            self.load_since(self.resource(), Instant::now()).await?;
        }
        Ok(Box::pin(self.run_operation()).await?.version)
    }
}

impl InProject<'_> {
    async fn item_version_now(&self) -> Result<Option<String>, Refusal> {
        let item = self.read_item(self.pk()?).await?;
        let recorded = settle_open_writes(self, std::slice::from_ref(&item), Looking::Read).await?;
        let values = self.own_values(item.id, &recorded).await?;
        self.item_version(&item, &recorded, &values)
    }

    /// Custom values of an item as the store has them; an item without a type has none that count.
    pub(in crate::run) async fn own_values(
        &self,
        item: Uuid,
        recorded: &ProjectItems,
    ) -> Result<ItemValues, Refusal> {
        match recorded.types.get(&item) {
            Some(_) => Ok(self.runner.store.values_of(item).await?),
            None => Ok(ItemValues::new()),
        }
    }

    /// The version of an item with its type and values; none when it was read in part.
    pub(in crate::run) fn item_version(
        &self,
        item: &Item,
        recorded: &ProjectItems,
        values: &ItemValues,
    ) -> Result<Option<String>, Refusal> {
        let Some(mut version) = version_of(item, &self.card.identifier) else { return Ok(None) };
        if let Some(type_id) = recorded.types.get(&item.id) {
            let values: BTreeMap<&Uuid, Vec<_>> = values
                .iter()
                .map(|(property, elements)| {
                    (property, elements.iter().map(|one| (&one.value, one.option)).collect())
                })
                .collect();
            serde_json::to_writer(&mut version, &(type_id, values)).map_err(Refusal::internal)?;
        }
        Ok(Some(tag::of(&version)))
    }
}

/// The refusal of a write because of what `header` demands.
pub(in crate::run) fn failed(header: &str) -> Refusal {
    let detail = match header {
        "If-None-Match" => "The record is what If-None-Match says that it must not be.",
        _ => "The record is another by now than If-Match says; read it again before changing it.",
    };
    Refusal::PreconditionFailed { detail: detail.into() }
}

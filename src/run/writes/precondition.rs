//! Versions of records, `If-Match` and `If-None-Match`: a write that demands or excludes a version is carried out only
//! if the record's version fits.
//!
//! The record is compared in its present state, so a request with the header reads it once more; other requests cost
//! nothing. The order of refusals: absent 404, role and mode 403 and 409 of the own store, then 412, then errors in the
//! body. v1 itself has no conditions. No other write through the gateway can come between the look and the write,
//! because the look happens within the write's turn. A write that bypasses the gateway at that moment is not noticed.
//! Definitions of the own store are compared again inside the transaction that changes them.
//!
//! May use: what `run` may use.

use crate::plan::{Known, Special, Step};
use crate::refusal::Refusal;
use crate::run::items::fields::{ItemSource, settle_open_writes};
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
    /// Refuses the write when it demands a version other than the one that v1 shows now. Must be called by the code
    /// that carries a write out, within the write's turn.
    ///
    /// # Errors
    /// 404 when the record does not exist; 403 when the caller may not write to it; then 412, or 400 for a malformed
    /// header; errors of the read.
    pub(in crate::run) async fn check_precondition(&self) -> Result<(), Refusal> {
        let Some(condition) = &self.condition else { return Ok(()) };
        let Some(showing) = self.runner.plan.showing(self.operation()) else { return Ok(()) };
        if self.is_own() {
            // Compared after role and mode, and again inside the transaction.
            return Ok(());
        }
        let unarchive = Step::Special(Special::WorkItemUnarchive);
        let version = match Box::pin(self.as_operation(showing, Parameters::default()).version_now()).await {
            // v1 shows no archived item, so an item that is to be unarchived cannot be compared.
            Err(Refusal::NotFound { .. }) if self.operation().step == unarchive => None,
            outcome => outcome?,
        };
        let failure = match condition {
            Ok(demand) => match demand.unmet(version.as_deref()) {
                Some(header) => failed(header),
                None => return Ok(()),
            },
            Err(unreadable) => unreadable.clone(),
        };
        if self.operation().may.is_some() {
            let record = Box::pin(list::read_addressed_record(self)).await?;
            Box::pin(rules::check_may_write(self, &record)).await?;
        }
        Err(failure)
    }

    /// Returns the version that v1 shows now for the record of this read, without using caches.
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
        let recorded = settle_open_writes(self, std::slice::from_ref(&item), ItemSource::Read).await?;
        let values = self.own_values(item.id, &recorded).await?;
        self.item_version(&item, &recorded, &values)
    }

    /// Returns the custom values of an item from the store; the values of an item without a type do not count.
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

    /// Returns the version of an item with its type and values; none when the item was read only in part.
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

/// Returns the refusal of a write whose condition in `header` is not met.
pub(in crate::run) fn failed(header: &str) -> Refusal {
    let detail = match header {
        "If-None-Match" => "The record is what If-None-Match says that it must not be.",
        _ => "The record is another by now than If-Match says; read it again before changing it.",
    };
    Refusal::PreconditionFailed { detail: detail.into() }
}

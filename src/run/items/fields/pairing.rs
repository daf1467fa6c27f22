//! Work items and their recorded data, of the same moment.
//!
//! v1 has one half of an item, the store the other, and each is read separately. A reader notes the recorded data,
//! reads the items, and compares them with the data recorded afterwards. If a write about one of the items has ended in
//! between, it reads again. A write under way has not happened yet for the reader, as long as v1 does not show it. May
//! use: what `run` may use.

use super::settle::{PATIENCE, Reading, settled};
use super::source::ItemSource;
use crate::fresh::Changed;
use crate::refusal::Refusal;
use crate::run::Runner;
use crate::run::job::InProject;
use crate::store::{ItemValues, ProjectItems};
use crate::translate::work_items::Item;
use std::sync::Arc;
use std::time::Instant;
use uuid::Uuid;

/// Most times that the items of one answer are read from v1.
const ROUNDS: usize = 5;
/// Most times that they are taken from an index, which usually needs no call of v1. Each repetition is due to a write
/// to one of many items. The limit is high, so that many writing clients do not leave a list without an answer.
const ROUNDS_OF_INDEX: usize = 50;

/// A read of items together with their recorded data.
pub(in crate::run) struct Pairing {
    /// The data recorded before the items were read.
    pub before: Arc<ProjectItems>,
    /// Time until which they may be read again (set at the first repetition), and the number of reads.
    until: Option<Instant>,
    rounds: usize,
}

impl Pairing {
    /// Notes the recorded data; must be called before the items are read.
    pub async fn begin(job: &InProject<'_>) -> Result<Self, Refusal> {
        Self::of(&job.runner, job.card.id).await
    }

    /// Notes the same, for items of this project.
    pub async fn of(runner: &Runner, project: Uuid) -> Result<Self, Refusal> {
        Ok(Self { before: recorded(runner, project).await?, until: None, rounds: 1 })
    }

    /// Returns the recorded data of the project if they fit an item that was read since; none when the item must be
    /// read again.
    ///
    /// # Errors
    /// `store_unavailable` while a write about it is not settled, or when the item keeps changing.
    pub async fn holds(
        &mut self,
        job: &InProject<'_>,
        item: &Item,
        source: ItemSource,
    ) -> Result<Option<Arc<ProjectItems>>, Refusal> {
        self.hold(job, std::slice::from_ref(item), source, false).await
    }

    /// Returns the same for the rows of a list, which shows their types but no values.
    pub async fn holds_rows(
        &mut self,
        job: &InProject<'_>,
        rows: &[Item],
        source: ItemSource,
    ) -> Result<Option<Arc<ProjectItems>>, Refusal> {
        self.hold(job, rows, source, true).await
    }

    async fn hold(
        &mut self,
        job: &InProject<'_>,
        items: &[Item],
        source: ItemSource,
        types_alone: bool,
    ) -> Result<Option<Arc<ProjectItems>>, Refusal> {
        let ctx = &job.call.ctx;
        let left = self.until.map_or(ctx.patience(), |until| until.saturating_duration_since(Instant::now()));
        let patience = left.max(PATIENCE).min(ctx.remaining());
        let reading = Reading { before: &self.before, types_alone };
        let recorded = settled(job, items, source, Some(reading), patience).await?;
        if recorded.is_none() {
            let older = ctx.meter.is_stale();
            if source.is_index() && job.runner.store.processes() > 1 && !older {
                // The write may be by another process, and this process may not have the new row yet.
                job.runner.changes.tell(Changed::WorkItems(job.card.id));
            }
            self.again(job, source).await?;
        }
        Ok(recorded)
    }

    /// Returns the custom values of an item that has passed [`Pairing::holds`]; none when the item must be read again.
    pub async fn values(
        &mut self,
        job: &InProject<'_>,
        item: Uuid,
        recorded: &ProjectItems,
    ) -> Result<Option<ItemValues>, Refusal> {
        if !recorded.types.contains_key(&item) {
            return Ok(Some(ItemValues::new()));
        }
        // The values are read by a separate statement, so a write may have ended in between.
        let (written, values) = job.runner.store.values_as_written(item).await?;
        if written == recorded.written_at(item) {
            return Ok(Some(values));
        }
        self.again(job, ItemSource::Read).await?;
        Ok(None)
    }

    /// Prepares another read of the items.
    ///
    /// # Errors
    /// `store_unavailable` when they were read often enough, or for long enough.
    pub async fn again(&mut self, job: &InProject<'_>, source: ItemSource) -> Result<(), Refusal> {
        let now = Instant::now();
        let most = if source.is_index() { ROUNDS_OF_INDEX } else { ROUNDS };
        if self.rounds >= most || now > *self.until.get_or_insert_with(|| now + job.call.ctx.patience()) {
            return Err(Refusal::WriteUndecided);
        }
        self.rounds += 1;
        self.renew(job).await
    }

    /// Notes the present recorded data; valid only while no item to be shown has been read.
    pub async fn renew(&mut self, job: &InProject<'_>) -> Result<(), Refusal> {
        self.before = recorded(&job.runner, job.card.id).await?;
        Ok(())
    }
}

/// Returns the recorded data of a project. v1 data from before the latest recorded data are invalidated: another
/// process may have written both.
async fn recorded(runner: &Runner, project: Uuid) -> Result<Arc<ProjectItems>, Refusal> {
    let items = runner.store.project_items(project).await?;
    runner.drop_data_before_epoch(project, items.epoch);
    Ok(items)
}

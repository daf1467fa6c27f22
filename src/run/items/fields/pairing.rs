//! Work items and what is recorded about them, of one moment.
//!
//! v1 has one half of an item, the store the other, and each is read by itself. A reader notes what is recorded, reads
//! the items, and holds them against what is recorded then. Where a write about one of them has ended in between, it
//! reads again; a write that is under way has not happened yet for it, as long as v1 does not show it. May use: what
//! `run` may use.

use super::settle::{Looking, PATIENCE, Reading, settled};
use crate::fresh::Changed;
use crate::refusal::Refusal;
use crate::run::Runner;
use crate::run::job::InProject;
use crate::store::{ItemValues, ProjectItems};
use crate::translate::work_items::Item;
use std::sync::Arc;
use std::time::Instant;
use uuid::Uuid;

/// Times that the items of one answer are read from v1.
const ROUNDS: usize = 5;
/// Times that they are taken from an index, which mostly asks v1 nothing. Each of them follows a write to one of the items
/// that ended meanwhile, and a list shows many; so many clients that write must not leave it without an answer.
const ROUNDS_OF_INDEX: usize = 50;

/// A read of items that are shown with what is recorded about them.
pub(in crate::run) struct Pairing {
    /// What was recorded before the items were read.
    pub before: Arc<ProjectItems>,
    /// Until when they are read again, once they had to be, and how often they were read.
    until: Option<Instant>,
    rounds: usize,
}

impl Pairing {
    /// To be called before the items are read.
    pub async fn begin(job: &InProject<'_>) -> Result<Self, Refusal> {
        Self::of(&job.runner, job.card.id).await
    }

    /// The same, for items of this project.
    pub async fn of(runner: &Runner, project: Uuid) -> Result<Self, Refusal> {
        Ok(Self { before: recorded(runner, project).await?, until: None, rounds: 1 })
    }

    /// What is recorded about the project, when an item, which was read since, belongs to it; none when it has to be read
    /// again.
    ///
    /// # Errors
    /// `store_unavailable` while a write about it is not settled, or when it keeps changing.
    pub async fn holds(&mut self, job: &InProject<'_>, item: &Item) -> Result<Option<Arc<ProjectItems>>, Refusal> {
        self.hold(job, std::slice::from_ref(item), Looking::Read, false).await
    }

    /// The same for the rows of a list, which shows their types and no values.
    pub async fn holds_rows(
        &mut self,
        job: &InProject<'_>,
        rows: &[Item],
        looking: Looking,
    ) -> Result<Option<Arc<ProjectItems>>, Refusal> {
        self.hold(job, rows, looking, true).await
    }

    async fn hold(
        &mut self,
        job: &InProject<'_>,
        items: &[Item],
        looking: Looking,
        types_alone: bool,
    ) -> Result<Option<Arc<ProjectItems>>, Refusal> {
        let ctx = &job.call.ctx;
        let left = self.until.map_or(ctx.patience(), |until| until.saturating_duration_since(Instant::now()));
        let patience = left.max(PATIENCE).min(ctx.remaining());
        let reading = Reading { before: &self.before, types_alone };
        let recorded = settled(job, items, looking, Some(reading), patience).await?;
        if recorded.is_none() {
            let older = ctx.meter.is_stale();
            if looking == Looking::Indexed && job.runner.store.processes() > 1 && !older {
                // The write may be another process's, whose row this one does not have yet.
                job.runner.changes.tell(Changed::WorkItems(job.card.id));
            }
            self.again(job, looking).await?;
        }
        Ok(recorded)
    }

    /// The custom values of an item that [`Pairing::holds`] has let pass; none when it has to be read again.
    pub async fn values(
        &mut self,
        job: &InProject<'_>,
        item: Uuid,
        recorded: &ProjectItems,
    ) -> Result<Option<ItemValues>, Refusal> {
        if !recorded.types.contains_key(&item) {
            return Ok(Some(ItemValues::new()));
        }
        // Read by a statement of its own, so that a write may have ended between the two.
        let (written, values) = job.runner.store.values_as_written(item).await?;
        if written == recorded.written_at(item) {
            return Ok(Some(values));
        }
        self.again(job, Looking::Read).await?;
        Ok(None)
    }

    /// The items have to be read again.
    ///
    /// # Errors
    /// `store_unavailable` when that was done often enough.
    pub async fn again(&mut self, job: &InProject<'_>, looking: Looking) -> Result<(), Refusal> {
        let now = Instant::now();
        let most = if looking == Looking::Indexed { ROUNDS_OF_INDEX } else { ROUNDS };
        if self.rounds >= most || now > *self.until.get_or_insert_with(|| now + job.call.ctx.patience()) {
            return Err(Refusal::WriteUndecided);
        }
        self.rounds += 1;
        self.renew(job).await
    }

    /// Notes what is recorded now; nothing was read yet that is to be shown.
    pub async fn renew(&mut self, job: &InProject<'_>) -> Result<(), Refusal> {
        self.before = recorded(&job.runner, job.card.id).await?;
        Ok(())
    }
}

/// What is recorded of a project. What was read of v1 before the last that is recorded counts no more: another process
/// may have written both.
async fn recorded(runner: &Runner, project: Uuid) -> Result<Arc<ProjectItems>, Refusal> {
    let items = runner.store.project_items(project).await?;
    runner.goes_with(project, items.epoch);
    Ok(items)
}

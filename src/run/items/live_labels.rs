//! Labels that still exist, for items from the index.
//!
//! A row of the index keeps the id of a deleted label, because v1 removes the label from the item without changing
//! `updated_at` (trap 56, `updated_after_label_delete`), so no refresh reads the item again. The list of labels shows
//! which exist, but it is cached: a row read later can have a newer label. So an id that a cached list lacks is looked
//! up once in a fresh list; if the id is missing there too, the label is deleted for good.
//!
//! May use: what `run` may use.

use crate::context::Note;
use crate::plan::Known;
use crate::refusal::Refusal;
use crate::run::job::InProject;
use crate::run::kept::collection::Collection;
use crate::translate::work_items::Item;
use std::collections::HashSet;
use std::time::Instant;
use uuid::Uuid;

impl InProject<'_> {
    /// Removes labels from a row of the index that were deleted since.
    pub(in crate::run) async fn with_live_labels(&self, mut item: Item) -> Result<Item, Refusal> {
        if !item.labels.is_empty() {
            let live = self.live_labels(&item.labels).await?;
            item.labels.retain(|id| live.contains(id));
        }
        Ok(item)
    }

    /// Returns labels that still exist; they include all existing ones of `shown`, which were read before now.
    pub(in crate::run) async fn live_labels(
        &self,
        shown: impl IntoIterator<Item = &Uuid>,
    ) -> Result<HashSet<Uuid>, Refusal> {
        let (labels, asked) = (self.resource_named(Known::Labels)?, Instant::now());
        let kept = self.load(labels).await?;
        let (read_at, live) = (kept.began.at, ids(&kept.value));
        let runner = &self.runner;
        let is_known = |id: &Uuid| {
            live.contains(id) || runner.unlisted_labels.contains(*id) || runner.deleted_labels.contains(*id)
        };
        let unknown: Vec<Uuid> = shown.into_iter().filter(|id| !is_known(id)).copied().collect();
        if unknown.is_empty() {
            return Ok(live);
        }
        let live = match read_at < asked {
            false => live,
            true if self.is_short() => {
                self.call.ctx.meter.relies_on(read_at, Note::Stale);
                return Ok(live);
            }
            true => match self.load_since(labels, asked).await {
                Ok(newer) => ids(&newer.value),
                Err(refusal) if refusal.is_upstream_failure() && self.call.ctx.tolerant => {
                    self.call.ctx.meter.relies_on(read_at, Note::Outage);
                    return Ok(live);
                }
                Err(refusal) => return Err(refusal),
            },
        };
        unknown.into_iter().filter(|id| !live.contains(id)).for_each(|id| runner.unlisted_labels.insert(id));
        Ok(live)
    }
}

fn ids(labels: &Collection) -> HashSet<Uuid> {
    labels.rows().iter().map(|held| held.record.id).collect()
}

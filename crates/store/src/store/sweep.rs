//! Work items that v1 does not show: counts them, and purges those that it has not shown for long or that the gateway
//! has deleted.
//!
//! May use: `units`, this folder.

use super::error::StoreError;
use super::items::{bump, purge};
use super::rows::{all, query, value};
use super::service::Store;
use crate::units::{micros, now_micros};
use std::collections::BTreeSet;
use std::time::Duration;
use uuid::Uuid;

/// Most times that a sweep, or the purge of an item, begins.
const ATTEMPTS: u32 = 5;

/// Numbers of rows that a sweep removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Swept {
    /// Work items.
    pub work_items: u64,
    /// Elements of their values.
    pub values: u64,
}

impl Store {
    /// Returns the number of work items that v1 does not show at present; their values are kept.
    pub async fn missing_items(&self) -> Result<i64, StoreError> {
        let counting = query("SELECT COUNT(*) FROM work_item WHERE missing_since IS NOT NULL", &[]);
        Ok(value(self.engine.pool(), counting).await?.unwrap_or_default())
    }

    /// Purges work items that v1 has not shown for longer than `age`, and their values. Raises the counters of their
    /// projects, so that no process keeps them in memory.
    pub async fn sweep(&self, age: Duration) -> Result<Swept, StoreError> {
        let before = now_micros() - micros(age);
        unless_contended(|| self.sweep_once(before)).await
    }

    /// Removes all records about an item that was deleted through the gateway.
    pub async fn purge_item(&self, project: Uuid, item: Uuid) -> Result<(), StoreError> {
        unless_contended(|| self.purge_item_once(project, item)).await
    }

    async fn purge_item_once(&self, project: Uuid, item: Uuid) -> Result<(), StoreError> {
        let mut writing = self.engine.writing().await?;
        let version = bump(&mut writing, project).await?;
        purge(&mut writing, item).await?;
        writing.commit().await?;
        self.carry(project, version, move |items| items.purged(item));
        Ok(())
    }

    async fn sweep_once(&self, before: i64) -> Result<Swept, StoreError> {
        let mut writing = self.engine.writing().await?;
        let text = "SELECT DISTINCT project_id FROM work_item WHERE missing_since < $1";
        let projects: BTreeSet<Uuid> = all(&mut *writing, query(text, &[&before]), |cells| cells.next()).await?;
        // Always in the same order, so that two sweeps never wait for each other.
        for project in projects {
            bump(&mut writing, project).await?;
        }
        let text = "DELETE FROM custom_value WHERE work_item_id IN (SELECT id FROM work_item \
                    WHERE missing_since < $1)";
        let values = writing.run(query(text, &[&before])).await?;
        let text = "DELETE FROM work_item WHERE missing_since < $1";
        let work_items = writing.run(query(text, &[&before])).await?;
        writing.commit().await?;
        Ok(Swept { work_items, values })
    }
}

/// Begins `work` again when the database has ended it for an edit of definitions that removes values: such an edit locks
/// them in another order.
async fn unless_contended<T, F>(work: impl Fn() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    for _ in 1..ATTEMPTS {
        match work().await {
            Err(StoreError::Contended(_)) => {}
            ended => return ended,
        }
    }
    work().await
}

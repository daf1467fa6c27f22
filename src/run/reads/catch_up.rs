//! Keeping this process's cached data of a project in step with other gateway processes on the same store.
//!
//! Each write to v1 raises the project's epoch before and after it (one on the pass-through only after it); each read
//! compares the epochs. Before: when a process dies during its write, the others drop their older data soon. After: the
//! next read of every other process sees the acknowledged write. When types or values of an item are recorded with the
//! write, that raises the epoch too, so that no process shows them together with older data of v1. A process that hears
//! of all writes compares in memory (`store::peers`); a process with its own store (SQLite) has no other processes to
//! tell.
//! May use: `fresh`, `store`, `task`.

use super::late::{Announcement, MOST_LATE, repeated};
use crate::fresh::Changed;
use crate::run::runner::Runner;
use crate::store::{HeldNames, StoreError};
use crate::task::spawn;
use std::sync::Arc;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Pauses between attempts to announce a write while its answer waits, in milliseconds: until then, other processes
/// show older data. After an outage, several connections in a row may be dead.
const ANNOUNCE_PAUSES: [u64; 5] = [20, 50, 100, 200, 300];
/// Time after which no further attempt is made while the answer waits.
const AT_ONCE: Duration = Duration::from_secs(1);

impl Runner {
    /// Drops cached data of `project` if another process wrote there; called before a read or write.
    pub(in crate::run) async fn catch_up(&self, project: Uuid) {
        match self.store.epoch(project).await {
            Ok(epoch) => self.reached(project, epoch, 0),
            // Reads use cached data and say so; see `Job::run`.
            Err(_) if self.store.away_since().is_some() => {}
            // Writes of other processes are unknown, so cached data are not used; v1 itself still answers.
            Err(_) => {
                self.changes.tell(Changed::Project(project));
            }
        }
    }

    /// Announces to other processes a write in `project` that is about to be sent, and that holds `turn` meanwhile.
    pub(in crate::run) async fn announce(&self, project: Uuid, turn: Option<&HeldNames>) -> Result<(), StoreError> {
        let epoch = self.store.bump_epoch(project, Vec::new(), turn, false).await?;
        self.reached(project, epoch, 1);
        Ok(())
    }

    /// Announces a write that was answered; waits until all processes that answer from memory know of it. `changed` is
    /// other cached data that may be invalid. When the announcement fails, it is tried again after the answer: the
    /// write cannot be undone.
    pub async fn announce_done(self: &Arc<Self>, project: Uuid, changed: Vec<Changed>, turn: Option<&HeldNames>) {
        self.tell_others(Announcement { project: Some(project), changed, turn: turn.cloned() }).await;
    }

    /// Announces to other processes the data that a write outside of any project may have changed, in the same way.
    pub async fn announce_beyond_projects(self: &Arc<Self>, changed: Vec<Changed>) {
        self.tell_others(Announcement { project: None, changed, turn: None }).await;
    }

    async fn tell_others(self: &Arc<Self>, told: Announcement) {
        let (began, mut pauses) = (Instant::now(), ANNOUNCE_PAUSES.iter());
        let fault = loop {
            let Err(fault) = self.tell_once(&told).await else { return };
            match pauses.next() {
                Some(pause) if began.elapsed() < AT_ONCE => {
                    tokio::time::sleep(Duration::from_millis(*pause)).await;
                }
                _ => break fault,
            }
        };
        let project = told.project.map(tracing::field::display);
        tracing::warn!(project, %fault, "other gateway processes could not be told of a write");
        if self.late.lock().len() >= MOST_LATE {
            tracing::error!(project, "other gateway processes were not told of a write");
        } else if self.late.lock().insert(told.clone()) {
            // The end of the process does not wait for this task.
            let runner = Arc::clone(self);
            spawn(async move { runner.tell_late(told).await });
        }
    }

    async fn tell_late(&self, told: Announcement) {
        let attempt = || async {
            // A write that ends from now on needs an announcement of its own.
            self.late.lock().remove(&told);
            let is_told = self.tell_once(&told).await.is_ok();
            // When an equal one waits by now, that one is made for both.
            is_told || !self.late.lock().insert(told.clone())
        };
        let project = told.project.map(tracing::field::display);
        if repeated(|| self.store.away_since().is_some(), attempt).await {
            tracing::info!(project, "other gateway processes were told of a write late");
        } else {
            self.late.lock().remove(&told);
            tracing::error!(project, "other gateway processes were not told of a write");
        }
    }

    async fn tell_once(&self, told: &Announcement) -> Result<(), StoreError> {
        let changed = told.changed.clone();
        let Some(project) = told.project else { return self.store.tell(changed).await };
        let epoch = self.store.bump_epoch(project, changed, told.turn.as_ref(), true).await?;
        self.reached(project, epoch, 1);
        Ok(())
    }

    /// Drops v1 data of the project read before this epoch: they do not fit the recorded types and values.
    pub(in crate::run) fn drop_data_before_epoch(&self, project: Uuid, epoch: i64) {
        if self.epochs.get(&project).unwrap_or(0) < epoch {
            self.reached(project, epoch, 0);
        }
    }

    /// Notes that `epoch` is in force; `own` is 1 if this process raised it, 0 if it only read it.
    pub(in crate::run) fn reached(&self, project: Uuid, epoch: i64, own: i64) {
        if epoch == 0 {
            // There was no write yet through this store, or this process has the store to itself.
            return;
        }
        let known = self.epochs.get(&project);
        if own > 0 && known.is_some_and(|known| known >= epoch) {
            // The step to the later epoch has already covered all earlier ones.
            return;
        }
        // Invalidate first: a reader that sees the new number treats cached data as current.
        if known.unwrap_or(0) != epoch - own {
            self.changes.tell(Changed::Project(project));
        }
        if known != Some(epoch) {
            self.epochs.insert(project, epoch);
        }
    }
}

//! Keeping this process's cached data of a project in step with other gateway processes on the same store.
//!
//! Each write to v1 raises the project's epoch before and after it (one on the pass-through only after it); each read
//! compares the epochs. Before: when a process dies during its write, the others drop their older data soon. After: the
//! next read of every other process sees the acknowledged write. When types or values of an item are recorded with the
//! write, that raises the epoch too, so that no process shows them together with older data of v1. A process that hears
//! of all writes compares in memory (`store::peers`); a process with its own store (SQLite) has no other processes to
//! tell.
//! May use: `fresh`, `store`.

use crate::fresh::Changed;
use crate::run::runner::Runner;
use crate::store::{HeldNames, StoreError};
use std::sync::Arc;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Pauses between attempts to announce a write while its answer waits, in milliseconds: until then, other processes
/// show older data. After an outage, several connections in a row may be dead.
const ANNOUNCE_PAUSES: [u64; 5] = [20, 50, 100, 200, 300];
/// Time after which no further attempt is made while the answer waits.
const AT_ONCE: Duration = Duration::from_secs(1);
/// Number of later attempts to announce a write that could not be announced.
const LATE_ATTEMPTS: usize = 30;
/// Time between later attempts.
const AGAIN: Duration = Duration::from_secs(2);

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

    /// Announces to other processes a write in `project` that is about to be sent. `changed` is other cached data that
    /// may become invalid, and `turn` the turn that a write of this gateway holds meanwhile.
    pub(in crate::run) async fn announce(
        &self,
        project: Uuid,
        changed: Vec<Changed>,
        turn: Option<&HeldNames>,
    ) -> Result<(), StoreError> {
        let epoch = self.store.bump_epoch(project, changed, turn, false).await?;
        self.reached(project, epoch, 1);
        Ok(())
    }

    /// Announces a write that was answered; waits until all processes that answer from memory know of it. When the
    /// announcement fails, it is tried again after the answer: the write cannot be undone.
    pub async fn announce_done(self: &Arc<Self>, project: Uuid, changed: Vec<Changed>, turn: Option<&HeldNames>) {
        let (began, mut pauses) = (Instant::now(), ANNOUNCE_PAUSES.iter());
        let fault = loop {
            let fault = match self.store.bump_epoch(project, changed.clone(), turn, true).await {
                Ok(epoch) => return self.reached(project, epoch, 1),
                Err(fault) => fault,
            };
            match pauses.next() {
                Some(pause) if began.elapsed() < AT_ONCE => {
                    tokio::time::sleep(Duration::from_millis(*pause)).await;
                }
                _ => break fault,
            }
        };
        tracing::warn!(%project, %fault, "other gateway processes could not be told of a write");
        let (runner, turn) = (Arc::clone(self), turn.cloned());
        tokio::spawn(async move { runner.announce_late(project, changed, turn).await });
    }

    async fn announce_late(&self, project: Uuid, changed: Vec<Changed>, turn: Option<HeldNames>) {
        for _ in 0..LATE_ATTEMPTS {
            tokio::time::sleep(AGAIN).await;
            if let Ok(epoch) = self.store.bump_epoch(project, changed.clone(), turn.as_ref(), true).await {
                tracing::info!(%project, "other gateway processes were told of a write late");
                return self.reached(project, epoch, 1);
            }
        }
        tracing::error!(%project, "other gateway processes were not told of a write");
    }

    /// Announces to other processes the data that a write outside of any project may have changed.
    pub async fn announce_beyond_projects(&self, changed: Vec<Changed>) {
        if let Err(fault) = self.store.tell(changed).await {
            tracing::warn!(%fault, "other gateway processes could not be told of a write");
        }
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

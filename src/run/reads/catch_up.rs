//! Keeping what this process remembers of a project in step with other gateway processes on the same store.
//!
//! Each write to v1 raises the project's epoch before and after it; each read compares. Before, so that nobody
//! keeps for long what a process that died in the middle has changed; when types or values of an item are recorded with it,
//! so that nobody shows them beside v1's half from before; after, so that the next read of every
//! other process sees what was acknowledged. A process that hears of all writes compares in memory (`store::peers`);
//! with a store of its own (SQLite) it has nobody to tell.
//! May use: `fresh`, `store`.

use crate::fresh::Changed;
use crate::run::runner::Runner;
use crate::store::{Noted, StoreError};
use std::sync::Arc;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Pauses before others are told again of a write while its answer waits, in milliseconds: they would show what was
/// before. After an outage several connections in a row may be dead.
const TOLD_AT_ONCE: [u64; 5] = [20, 50, 100, 200, 300];
/// How long that may have taken for another attempt.
const AT_ONCE: Duration = Duration::from_secs(1);
/// How often others are told again of a write that they could not be told of.
const TOLD_AGAIN: usize = 30;
/// Time until the next attempt.
const AGAIN: Duration = Duration::from_secs(2);

impl Runner {
    /// Before a read or write in `project`: drops what is kept of it when another process wrote there.
    pub(in crate::run) async fn catch_up(&self, project: Uuid) {
        match self.store.epoch(project).await {
            Ok(epoch) => self.reached(project, epoch, 0),
            // Reads make do with what is kept, and say so; see `Job::run`.
            Err(_) if self.store.away_since().is_some() => {}
            // Nobody can say what others did, so nothing kept counts; v1 itself still answers.
            Err(_) => {
                self.changes.tell(Changed::Project(project));
            }
        }
    }

    /// Tells other processes of a write in `project` that is about to be sent. `changed` is what else they keep that
    /// may not count any more, and `turn` what a write of this gateway's own has to itself meanwhile.
    pub async fn announce(
        &self,
        project: Uuid,
        changed: Vec<Changed>,
        turn: Option<&Noted>,
    ) -> Result<(), StoreError> {
        let epoch = self.store.bump_epoch(project, changed, turn, false).await?;
        self.reached(project, epoch, 1);
        Ok(())
    }

    /// The same for one that was answered; waits until all that answer from memory have heard of it. When they cannot
    /// be told, that is tried again beside the answer: nobody can take the write back.
    pub async fn announce_done(self: &Arc<Self>, project: Uuid, changed: Vec<Changed>, turn: Option<&Noted>) {
        let (began, mut pauses) = (Instant::now(), TOLD_AT_ONCE.iter());
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
        tokio::spawn(async move { runner.tell_late(project, changed, turn).await });
    }

    async fn tell_late(&self, project: Uuid, changed: Vec<Changed>, turn: Option<Noted>) {
        for _ in 0..TOLD_AGAIN {
            tokio::time::sleep(AGAIN).await;
            if let Ok(epoch) = self.store.bump_epoch(project, changed.clone(), turn.as_ref(), true).await {
                tracing::info!(%project, "other gateway processes were told of a write late");
                return self.reached(project, epoch, 1);
            }
        }
        tracing::error!(%project, "other gateway processes were not told of a write");
    }

    /// Tells other processes of what a write outside of any project may have changed.
    pub async fn announce_beyond_projects(&self, changed: Vec<Changed>) {
        if let Err(fault) = self.store.tell(changed).await {
            tracing::warn!(%fault, "other gateway processes could not be told of a write");
        }
    }

    /// What is recorded of the project goes with nothing that was read of v1 before this epoch.
    pub(in crate::run) fn goes_with(&self, project: Uuid, epoch: i64) {
        if self.epochs.get(&project).unwrap_or(0) < epoch {
            self.reached(project, epoch, 0);
        }
    }

    /// `epoch` is in force, `own` of its steps being this process's; 0 for one that was not raised.
    pub(in crate::run) fn reached(&self, project: Uuid, epoch: i64, own: i64) {
        if epoch == 0 {
            // Nobody ever wrote there through this store, or this process has it to itself.
            return;
        }
        let known = self.epochs.get(&project);
        if own > 0 && known.is_some_and(|known| known >= epoch) {
            // Whoever met a later one has told of all before it.
            return;
        }
        // Told first: a reader that sees the new number takes what is kept for current.
        if known.unwrap_or(0) != epoch - own {
            self.changes.tell(Changed::Project(project));
        }
        if known != Some(epoch) {
            self.epochs.insert(project, epoch);
        }
    }
}

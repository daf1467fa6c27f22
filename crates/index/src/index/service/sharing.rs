//! An index that this process does not have yet: loaded from the shared place, or built and kept there. Also the
//! indices that are kept when the gateway closes.
//!
//! May use: what `service` may use.

use super::super::deployment::{LoadedOrBuild, SharedPlace};
use super::super::entry::Entry;
use super::super::known::{IndexInProgress, ReadResult};
use super::super::v1_source::V1Source;
use super::{Indexes, Inner, Scope};
use crate::context::Priority;
use crate::fresh::Need;
use crate::refusal::Refusal;
use crate::task::spawn_on;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time from a change until the index is kept for other processes.
const LATER: Duration = Duration::from_secs(300);
/// Age up to which the index kept for other processes is young enough.
const YOUNG: Duration = Duration::from_secs(60);

impl Indexes {
    /// Writes everything that is not yet on disk.
    pub async fn close(&self) {
        for (scope, entry) in self.inner.entries_where(|_| true) {
            self.inner.share(&scope).await;
            let inner = Arc::clone(&self.inner);
            let save = move || {
                entry.save_walk();
                entry.save(|| inner.any(&scope));
            };
            let _ = tokio::task::spawn_blocking(save).await;
        }
    }
}

impl Inner {
    /// Returns the place where all processes find this index.
    pub(super) fn shared(&self, scope: &Scope) -> Option<SharedPlace> {
        let deployment = Arc::clone(self.deployment.get()?);
        Some(SharedPlace { deployment, identity: self.identity(scope) })
    }

    /// Keeps the index for other processes, unless the kept one is young enough.
    async fn share(&self, scope: &Scope) {
        if let (Some(place), Some(index)) = (self.shared(scope), self.any(scope)) {
            place.save(index.verified.clone(), YOUNG).await;
        }
    }

    /// Schedules that the index is kept for other processes after `LATER`.
    pub(super) fn share_later(self: Arc<Self>, scope: &Scope, entry: &Arc<Entry>) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.deployment.get().is_none() || !entry.schedule_sharing() {
            return;
        }
        let (entry, scope) = (Arc::clone(entry), scope.clone());
        drop(spawn_on(&runtime, async move {
            tokio::time::sleep(LATER).await;
            entry.unschedule_sharing();
            self.share(&scope).await;
        }));
    }

    /// Gets an index that this process does not know: builds it, or loads it from another process and brings it up to
    /// date.
    pub(super) async fn first(
        &self,
        scope: &Scope,
        entry: &Arc<Entry>,
        source: V1Source,
        need: Need,
        swept: Option<Instant>,
    ) -> Result<ReadResult, Refusal> {
        let place = self.shared(scope);
        let found = match &place {
            Some(place) => place.find(&entry.progress).await,
            None => LoadedOrBuild::Nothing(None),
        };
        let alone = match found {
            LoadedOrBuild::Index(verified) => {
                let known = IndexInProgress::found(verified, self.changes.now(), swept);
                return self.up_to_date(place, known, (&source, entry), need).await;
            }
            LoadedOrBuild::Nothing(alone) => alone,
        };
        // A build takes long and has the lowest priority. A refresh has the priority of the caller that waits for it.
        let ctx = source.ctx.clone().with_priority(Priority::Index);
        let source = V1Source { ctx, ..source };
        let built = self.build(&source, entry);
        let built = match place.as_ref().filter(|_| alone.is_some()) {
            Some(place) => tokio::select! {
                built = built => built?,
                never = place.tell(&entry.progress) => match never {},
            },
            None => built.await?,
        };
        if let Some(place) = place {
            place.save(built.verified.clone(), Duration::ZERO).await;
        }
        let shown = self.shown(&built.verified);
        Ok(ReadResult::of(built, None, shown))
    }
}

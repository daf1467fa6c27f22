//! A write from its turn to its end: announced to other gateway processes before and after, and reported as partly done
//! when that is possible.
//!
//! May use: what `run` may use.

use crate::fresh::Changed;
use crate::plan::Source;
use crate::refusal::Refusal;
use crate::run::job::Job;
use crate::run::runner::Runner;
use crate::store::{AT_WORK, InLine, Turn};
use crate::task::spawn;
use crate::v2::Reply;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use uuid::Uuid;

/// A call to v1 that may change something there. If it is dropped before its outcome is known (its task ended early),
/// it counts as carried out: the bytes may have been sent.
pub(in crate::run) struct Sending<'t> {
    touched: &'t AtomicBool,
    /// Whether v1 has, or may have, carried something out.
    maybe_done: bool,
}

impl<'t> Sending<'t> {
    /// Must be created before the bytes are sent; `touched` tells whether v1 may have carried out anything.
    pub(in crate::run) fn begin(touched: &'t AtomicBool) -> Self {
        Self { touched, maybe_done: true }
    }

    /// Notes the known outcome: v1 has, or may have, carried it out (`maybe_done`), or certainly not.
    pub(in crate::run) fn ended(mut self, maybe_done: bool) {
        self.maybe_done = maybe_done;
    }
}

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        if self.maybe_done {
            self.touched.store(true, Ordering::SeqCst);
        }
    }
}

impl Job {
    /// Carries a write out as its own task, so that a leaving client or a passed deadline never stops it half-way.
    /// `place` in the line is given up when the write has ended.
    pub(in crate::run) async fn carry_out_in(
        mut self,
        turn: Turn,
        place: Option<InLine>,
    ) -> Result<Reply, Refusal> {
        let (runner, touched, project) = (Arc::clone(&self.runner), Arc::clone(&self.touched), self.v1_project());
        let (at_end, created) = (self.at_end.take(), self.created_record());
        let task = runner.spawn_write(async move {
            let _place = place;
            let outcome = self.in_turn(turn).await;
            if let Some(at_end) = at_end {
                at_end(&outcome, created());
            }
            outcome
        });
        match task.await {
            Ok(outcome) => outcome,
            Err(gone) => {
                if let Some(project) = project {
                    runner.left_half_way(project, &touched).await;
                }
                Err(refusal_after_partial_write(Refusal::internal(format!("a write ended: {gone}")), &touched))
            }
        }
    }

    /// Carries out a write within its turn, also when the client leaves: it uses no data read before; the turn ends
    /// after the announcement, or when v1 has ended a write whose answer was lost.
    async fn in_turn(mut self, turn: Turn) -> Result<Reply, Refusal> {
        let deadline = self.runner.settings.limits.deadline;
        self.call.ctx = self.call.ctx.for_write(deadline, Arc::clone(&self.touched));
        let held = Arc::clone(&self.turn);
        *held.lock().await = Some(turn);
        self.catch_up().await;
        let (runner, project, noted) = (Arc::clone(&self.runner), self.v1_project(), Arc::clone(&self.noted));
        let outcome = self.announced_step().await;
        let turn = held.lock().await.take();
        match (turn, project) {
            (Some(turn), Some(project)) if noted.at_work.load(Ordering::SeqCst) => runner.keep_turn(turn, project),
            (turn, _) => drop(turn),
        }
        outcome
    }

    /// Declares that something may be carried out from now on. Must be called just before a write is sent to v1, or
    /// before the own store carries one out.
    ///
    /// # Errors
    /// [`Refusal::DeadlineExceeded`] when the client was told that nothing was carried out; this must stay true.
    pub(in crate::run) fn begin_to_write(&self) -> Result<(), Refusal> {
        match self.call.ctx.meter.begin_to_write() {
            true => Ok(()),
            false => Err(Refusal::DeadlineExceeded { maybe_done: false }),
        }
    }

    pub(in crate::run) fn v1_project(&self) -> Option<Uuid> {
        let project = self.call.card().map(|card| card.id);
        project.filter(|_| self.resource().source == Source::V1)
    }

    /// Carries a write out; a write to v1 is announced to other gateway processes before and after.
    async fn announced_step(self) -> Result<Reply, Refusal> {
        let Some(project) = self.v1_project() else { return self.reported_step().await };
        let (runner, void, noted) = (Arc::clone(&self.runner), self.voiding(), Arc::clone(&self.noted));
        let turn = self.turn.lock().await.as_ref().and_then(Turn::noted);
        // A write that cannot be announced is not sent: other processes would answer with older data.
        runner.announce(project, turn.as_ref()).await?;
        let outcome = self.reported_step().await;
        void(&outcome);
        // While v1 may be at work, the note about the turn stays; see `keep_turn`.
        let ended = turn.filter(|_| !noted.at_work.load(Ordering::SeqCst));
        runner.announce_done(project, Vec::new(), ended.as_ref()).await;
        outcome
    }

    /// Announces the result of an earlier attempt at this write, which may have been carried out after that attempt was
    /// announced.
    pub(in crate::run) async fn announce_found(&self) {
        if let Some(project) = self.v1_project() {
            self.runner.changes.tell(Changed::Project(project));
            self.runner.changes.tell(Changed::Written(project));
            self.runner.announce_done(project, Vec::new(), None).await;
        }
    }

    /// Carries the call out. A refusal after v1 has, or may have, carried out a part says so, and never suggests a
    /// retry.
    async fn reported_step(self) -> Result<Reply, Refusal> {
        let (touched, runner) = (Arc::clone(&self.touched), Arc::clone(&self.runner));
        let project = self.call.card().map(|card| card.id);
        let outcome = self.step().await;
        outcome.map_err(|refusal| {
            if touched.load(Ordering::SeqCst) {
                // A caller that looks the record up now must see v1's present data.
                if let Some(project) = project {
                    runner.changes.tell(Changed::Project(project));
                }
            }
            refusal_after_partial_write(refusal, &touched)
        })
    }
}

impl Runner {
    /// Keeps the turn of a write whose answer was lost, until v1 has ended the write: v1 saves whole rows, so it could
    /// still save old values over those of the next write. Then drops the data that were read meanwhile. The client has
    /// its answer before, and the end of the process does not wait for this.
    fn keep_turn(self: Arc<Self>, mut turn: Turn, project: Uuid) {
        let noted = turn.noted();
        turn.leave_other_processes();
        spawn(async move {
            // A shorter `store.late_write` says that v1 ends every write sooner.
            tokio::time::sleep(AT_WORK.min(self.settings.store.late_write)).await;
            self.changes.tell(Changed::Project(project));
            self.announce_done(project, Vec::new(), noted.as_ref()).await;
            drop(turn);
        });
    }

    /// Announces a write in this project that ended half-way without an announcement.
    async fn left_half_way(self: Arc<Self>, project: Uuid, touched: &AtomicBool) {
        if touched.load(Ordering::SeqCst) {
            self.changes.tell(Changed::Project(project));
        }
        self.announce_done(project, Vec::new(), None).await;
    }
}

/// Returns the refusal of a write: unchanged when v1 certainly did nothing, otherwise one that says it may have.
fn refusal_after_partial_write(refusal: Refusal, touched: &AtomicBool) -> Refusal {
    if touched.load(Ordering::SeqCst) { told(refusal) } else { refusal }
}

/// Returns the refusal of a write that has, or may have, been carried out in part. Two kinds stay unchanged: refusals
/// of the request itself (400, 409, 412), before which that part was undone, and refusals that already say how far the
/// write came. A later refusal of a key, role or record would make the client believe that nothing was changed.
fn told(refusal: Refusal) -> Refusal {
    let what = match &refusal {
        Refusal::OutcomeUnknown { .. } => return refusal,
        Refusal::UpstreamError { detail, .. } | Refusal::UpstreamFault { detail, .. } => detail.clone(),
        other if other.status() >= 500 || matches!(other.status(), 401 | 403 | 404 | 429) => {
            format!("It then failed ({}).", other.code())
        }
        _ => return refusal,
    };
    let timed_out = refusal.status() == 504;
    Refusal::outcome_unknown(
        format!("A part of the write, or all of it, was carried out. {what}"),
        format!("{refusal:?}"),
        timed_out,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_call_that_is_given_up_in_the_middle_counts_as_carried_out() {
        async fn sending(touched: &AtomicBool, ends: impl Future<Output = bool>) {
            let sending = Sending::begin(touched);
            let maybe_done = ends.await;
            sending.ended(maybe_done);
        }
        let touched = AtomicBool::new(false);
        sending(&touched, async { false }).await;
        assert!(!touched.load(Ordering::SeqCst), "v1 certainly did nothing");
        let forever = sending(&touched, std::future::pending());
        assert!(tokio::time::timeout(std::time::Duration::from_millis(1), forever).await.is_err());
        assert!(touched.load(Ordering::SeqCst), "its future was dropped");

        let touched = Arc::new(AtomicBool::new(false));
        let inside = Arc::clone(&touched);
        let task = tokio::spawn(async move { sending(&inside, async { panic!("in the middle") }).await });
        let gone = task.await.expect_err("a panic");
        assert!(touched.load(Ordering::SeqCst), "its task panicked");
        let refusal = refusal_after_partial_write(Refusal::internal(gone), &touched);
        assert_eq!((refusal.status(), refusal.code()), (502, "upstream_error"));
        let refusal =
            refusal_after_partial_write(Refusal::internal("before anything was sent"), &AtomicBool::new(false));
        assert_eq!(refusal.status(), 500);
        sending(&touched, async { false }).await;
        assert!(touched.load(Ordering::SeqCst), "what was done stays done");
    }
}

//! A write from its turn to its end: told to other gateway processes before and after, and said to be half done where
//! that may be so.
//!
//! May use: what `run` may use.

use crate::fresh::Changed;
use crate::plan::Source;
use crate::refusal::Refusal;
use crate::run::job::Job;
use crate::run::runner::Runner;
use crate::store::{InLine, Turn};
use crate::trace::carried;
use crate::v2::Reply;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use uuid::Uuid;

/// A call to v1 that may change something there. Given up before its outcome is known (its task ended in the middle),
/// it counts as carried out: the bytes may have left.
pub(in crate::run) struct Sending<'t> {
    touched: &'t AtomicBool,
    ended: bool,
}

impl<'t> Sending<'t> {
    /// To be made before the bytes leave; `touched` tells whether v1 may have carried out anything.
    pub(in crate::run) fn begin(touched: &'t AtomicBool) -> Self {
        Self { touched, ended: false }
    }

    /// The outcome is known: v1 has, or may have, carried it out, or certainly not.
    pub(in crate::run) fn ended(mut self, maybe_done: bool) {
        self.ended = true;
        if maybe_done {
            self.touched.store(true, Ordering::SeqCst);
        }
    }
}

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.touched.store(true, Ordering::SeqCst);
        }
    }
}

impl Job {
    /// Carries a write out as a task of its own, so that a client that leaves, or a deadline that passes, never stops
    /// it half-way. `place` is given up when it has ended.
    pub(in crate::run) async fn carry_out_in(self, turn: Turn, place: Option<InLine>) -> Result<Reply, Refusal> {
        self.call.ctx.meter.begin_to_write();
        let (runner, touched, project) = (Arc::clone(&self.runner), Arc::clone(&self.touched), self.v1_project());
        let task = runner.writes.spawn(carried(async move {
            let _place = place;
            self.outlasting_the_client().in_turn(turn).await
        }));
        match task.await {
            Ok(outcome) => outcome,
            Err(gone) => {
                if let Some(project) = project {
                    runner.left_half_way(project, &touched).await;
                }
                Err(half_way(Refusal::internal(format!("a write ended: {gone}")), &touched))
            }
        }
    }

    /// A write whose turn it is: nothing read before this counts, and the turn ends when all of it is done and told.
    async fn in_turn(self, turn: Turn) -> Result<Reply, Refusal> {
        let held = Arc::clone(&self.turn);
        *held.lock().await = Some(turn);
        self.catch_up().await;
        let outcome = self.announced_step().await;
        drop(held.lock().await.take());
        outcome
    }

    fn outlasting_the_client(mut self) -> Self {
        let deadline = self.runner.settings.limits.deadline;
        self.call.ctx = self.call.ctx.for_write(deadline, Arc::clone(&self.touched));
        self
    }

    /// Something was written to the own store: a refusal after this must not say that nothing was changed.
    pub(in crate::run) fn has_written(&self) {
        self.touched.store(true, Ordering::SeqCst);
    }

    /// What v1 has carried out of this write so far changed nothing.
    pub(in crate::run) fn has_changed_nothing(&self) {
        self.touched.store(false, Ordering::SeqCst);
    }

    pub(in crate::run) fn v1_project(&self) -> Option<Uuid> {
        let project = self.call.card().map(|card| card.id);
        project.filter(|_| self.resource().source == Source::V1)
    }

    /// Carries a write out, told to other gateway processes before and after when it goes to v1.
    async fn announced_step(self) -> Result<Reply, Refusal> {
        let Some(project) = self.v1_project() else { return self.told_step().await };
        let (runner, void) = (Arc::clone(&self.runner), self.voiding());
        let turn = self.turn.lock().await.as_ref().and_then(Turn::noted);
        // Nothing is sent of which others could not be told: they would answer what was before.
        runner.announce(project, Vec::new(), turn.as_ref()).await?;
        let outcome = self.told_step().await;
        void(&outcome);
        runner.announce_done(project, Vec::new(), turn.as_ref()).await;
        outcome
    }

    /// Carries the call out; a refusal after v1 has, or may have, carried out a part of it says so, and never invites
    /// to repeat it.
    async fn told_step(self) -> Result<Reply, Refusal> {
        let (touched, runner) = (Arc::clone(&self.touched), Arc::clone(&self.runner));
        let project = self.call.card().map(|card| card.id);
        let outcome = self.step().await;
        outcome.map_err(|refusal| {
            if touched.load(Ordering::SeqCst) {
                // A caller that looks the record up now must see what v1 shows now.
                if let Some(project) = project {
                    runner.changes.tell(Changed::Project(project));
                }
            }
            half_way(refusal, &touched)
        })
    }
}

impl Runner {
    /// A write in this project ended in the middle, and nobody was told of it yet.
    async fn left_half_way(self: Arc<Self>, project: Uuid, touched: &AtomicBool) {
        if touched.load(Ordering::SeqCst) {
            self.changes.tell(Changed::Project(project));
        }
        self.announce_done(project, Vec::new(), None).await;
    }
}

/// The refusal of a write: as it is when v1 certainly did nothing, else one that says so.
fn half_way(refusal: Refusal, touched: &AtomicBool) -> Refusal {
    if touched.load(Ordering::SeqCst) { told(refusal) } else { refusal }
}

/// A refusal of a write of which a part has, or may have, been carried out. A refusal because of the request itself
/// (400, 409, 412), before which that part was undone, and one that says already how far the write came, stay as they are;
/// of a key, role or record that was refused later the client would take that nothing was changed.
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
        let refusal = half_way(Refusal::internal(gone), &touched);
        assert_eq!((refusal.status(), refusal.code()), (502, "upstream_error"));
        let refusal = half_way(Refusal::internal("before anything was sent"), &AtomicBool::new(false));
        assert_eq!(refusal.status(), 500);
        sending(&touched, async { false }).await;
        assert!(touched.load(Ordering::SeqCst), "what was done stays done");
    }
}

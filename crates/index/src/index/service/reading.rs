//! The reads of v1: a build, or a refresh of a known index, for this process alone or for all processes together.
//!
//! May use: what `service` may use.

use super::super::build::{Build, SIZES};
use super::super::delta::{MOST, Recorder};
use super::super::deployment::SharedPlace;
use super::super::entry::Entry;
use super::super::known::{IndexInProgress, ReadResult, ReceivedRead, RowsFromV1};
use super::super::local_write::removed;
use super::super::refresh::{Refresh, Refreshed};
use super::super::shared_reads::MessageContent;
use super::super::source::Source;
use super::super::v1_source::V1Source;
use super::super::verified::Verified;
use super::super::walk::Walk;
use super::{Inner, with_files};
use crate::fresh::{Moment, Need};
use crate::refusal::Refusal;
use crate::store::{DeltaTurn, TakenTurn};
use crate::units::micros;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest time v1's clock may be behind ours so that a late change during a build is still noticed.
const SKEW: Duration = Duration::from_secs(2);
/// Longest wait for a read that another process is making.
const PATIENCE: Duration = Duration::from_secs(2);
/// First and longest pause between two checks of the read of another process.
const LOOKS: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(200));

/// The source of a read, and the state of its scope.
type ReadContext<'r> = (&'r V1Source, &'r Entry);

/// Why a process refreshes for itself alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AloneReason {
    /// Indices are not shared.
    NoOthers,
    /// The shared storage does not respond.
    NoAnswer,
    /// The read of another process takes too long.
    TooSlow,
}

impl Inner {
    pub(super) async fn build(&self, source: &V1Source, entry: &Arc<Entry>) -> Result<Refreshed<Moment>, Refusal> {
        self.reads.builds.add(1);
        let begun = self.changes.now();
        let now = source.now();
        let left_over = with_files(entry, move |entry| entry.load_walk(SIZES.page, now)).await;
        let is_new = left_over.is_none();
        let since = now - micros(SKEW);
        let walk = left_over.unwrap_or_else(|| Walk::new(SIZES.page, since));
        let (progress, pace) = (&entry.progress, &self.pace);
        let keep = |walk: &Walk| self.keep_walk(entry, walk);
        let build = Build { source, sizes: SIZES, progress, pace, keep: &keep };
        let walk = build.run(walk).await?;
        let verified = Verified::built(walk.rows.clone(), walk.trail.newest, walk.trail.floor);
        let built = if is_new && walk.is_one_whole_page() {
            Refreshed { verified, mark: begun, swept: true }
        } else {
            let (sizes, proof, clock) = (SIZES, Some(&walk), &Instant::now);
            let refresh = Refresh { source, sizes, progress, pace, patient: true, sweep: false, proof, clock };
            refresh.run(verified, || self.changes.now(), || entry.removed_meanwhile()).await?
        };
        let drop_walk = |entry: &Entry| {
            entry.drop_walk();
            Some(())
        };
        with_files(entry, drop_walk).await;
        Ok(Refreshed { swept: true, ..built })
    }

    /// Drops pages of failed builds that no build can continue with any more, so that their memory is free again.
    pub(super) fn drop_old_walks(&self, source: &V1Source) {
        let entries: Vec<_> = self.entries.lock().values().cloned().collect();
        entries.iter().for_each(|entry| entry.drop_old_walk(source.now()));
    }

    /// Keeps the pages of a build, unless they are too large.
    fn keep_walk(&self, entry: &Arc<Entry>, walk: &Walk) {
        if walk.rows.bytes() <= self.settings.max_bytes && entry.keep_walk(walk) {
            let entry = Arc::clone(entry);
            drop(tokio::task::spawn_blocking(move || entry.save_walk()));
        }
    }

    /// Brings a known index up to date: from the reads of other processes where they meet `need`, else from v1.
    pub(super) async fn up_to_date(
        &self,
        place: Option<SharedPlace>,
        mut known: IndexInProgress,
        asking: ReadContext<'_>,
        need: Need,
    ) -> Result<ReadResult, Refusal> {
        let Some(place) = place else { return self.refresh_alone(&known, asking, AloneReason::NoOthers).await };
        let (begun, mut pause) = (Instant::now(), LOOKS.0);
        loop {
            let Some(last) = self.hear(&place, &mut known, asking.1).await else {
                return self.refresh_alone(&known, asking, AloneReason::NoAnswer).await;
            };
            if let Some(got) = self.result_from_others(&known, asking.1, need) {
                return Ok(got);
            }
            match place.refresher().await {
                None => return self.refresh_alone(&known, asking, AloneReason::NoAnswer).await,
                Some(TakenTurn::Mine(turn)) => {
                    // Another process may have published a read just before.
                    if turn.number > last
                        && self.hear(&place, &mut known, asking.1).await.is_some()
                        && let Some(got) = self.result_from_others(&known, asking.1, need)
                    {
                        place.give_up(turn).await;
                        return Ok(got);
                    }
                    return self.refresh_for_all(&place, turn, &known, asking).await;
                }
                // Also waits for a turn that began too early to be of use here, as within one process: all waiting
                // callers then share the next read, which begins with what that turn has found.
                Some(TakenTurn::Others(for_so_long)) if for_so_long.max(begun.elapsed()) >= PATIENCE => {
                    return self.refresh_alone(&known, asking, AloneReason::TooSlow).await;
                }
                Some(TakenTurn::Others(_)) => {}
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 3 / 2).min(LOOKS.1);
        }
    }

    /// Applies the reads of other processes. Returns the number of the last one; None when the storage does not
    /// respond.
    async fn hear(&self, place: &SharedPlace, known: &mut IndexInProgress, entry: &Entry) -> Option<i64> {
        let mut last = known.shown.number.unwrap_or(0);
        for ReceivedRead { number, at, what } in place.told(known, self.changes.now().at).await? {
            last = last.max(number);
            let Some(local) = entry.local_writes_since(known.began.at) else { break };
            let (changes, now) = (&self.changes, self.changes.now().at);
            let fits = match what {
                MessageContent::Answers(what) => {
                    known.follow(ReceivedRead { number, at, what }, &local, SIZES, changes, now).await
                }
                MessageContent::Whole(what) => known.replace(ReceivedRead { number, at, what }, changes, now),
            };
            tracing::trace!(number, fits, "what another process has read");
        }
        Some(last)
    }

    /// Returns the index from the reads of other processes, with the local writes that came after, if it meets `need`.
    fn result_from_others(&self, known: &IndexInProgress, entry: &Entry, need: Need) -> Option<ReadResult> {
        if !known.has_applied || !need.is_met(known.began) || self.is_sweep_due(known.swept) {
            return None;
        }
        let (verified, shown) = known.with(entry.local_writes_since(known.began.at)?);
        self.reads.heard.add(1);
        Some(ReadResult { verified, mark: known.began, swept: known.swept, shown: Some(shown) })
    }

    /// Asks v1 in the turn of this process, and publishes v1's answers for the others.
    async fn refresh_for_all(
        &self,
        place: &SharedPlace,
        turn: DeltaTurn,
        known: &IndexInProgress,
        (source, entry): ReadContext<'_>,
    ) -> Result<ReadResult, Refusal> {
        let (since, clock) = (Instant::now(), &Instant::now);
        let local = entry.restart_read(known.began.at);
        let gone = local.iter().flat_map(removed).collect();
        let (base, sweep) = (known.base(local), self.is_sweep_due(known.swept));
        let recorder = Recorder::new(source, clock, since, MOST);
        let outcome = tokio::select! {
            outcome = self.refresh(&recorder, entry, base, sweep) => outcome,
            never = place.keep(turn) => match never {},
        };
        let refreshed = match outcome {
            Ok(refreshed) => refreshed,
            Err(refusal) => {
                place.give_up(turn).await;
                return Err(refusal);
            }
        };
        let ended = Instant::now();
        let gone_meanwhile = entry.local_writes_since(since).iter().flat_map(removed).collect();
        let delta = recorder.delta(sweep, gone, gone_meanwhile);
        let number = place.tell_read(turn, delta, &refreshed.verified).await;
        let shown = RowsFromV1 { verified: refreshed.verified.clone(), number, ended };
        Ok(ReadResult::of(refreshed, known.swept, Some(shown)))
    }

    /// Asks v1 for this process alone. When another process refreshes at the same time, all ids are not compared,
    /// because the other process may be comparing them.
    async fn refresh_alone(
        &self,
        known: &IndexInProgress,
        (source, entry): ReadContext<'_>,
        why: AloneReason,
    ) -> Result<ReadResult, Refusal> {
        let others = why == AloneReason::TooSlow;
        if why != AloneReason::NoOthers {
            tracing::debug!(?why, "an index is refreshed for this process alone");
        }
        let local = self.deployment.get().and_then(|_| entry.restart_read(known.began.at));
        let (base, sweep) = (known.base(local), self.is_sweep_due(known.swept));
        let refreshed = self.refresh(source, entry, base, sweep && !others).await?;
        let shown = self.shown(&refreshed.verified);
        Ok(ReadResult::of(refreshed, known.swept, shown))
    }

    /// Returns the rows that v1 has just shown, where processes share their reads.
    pub(super) fn shown(&self, verified: &Verified) -> Option<RowsFromV1> {
        self.deployment.get()?;
        Some(RowsFromV1 { verified: verified.clone(), number: None, ended: Instant::now() })
    }

    fn is_sweep_due(&self, swept: Option<Instant>) -> bool {
        swept.is_none_or(|at| at.elapsed() >= self.settings.sweep)
    }

    async fn refresh<S: Source>(
        &self,
        source: &S,
        entry: &Entry,
        base: Verified,
        sweep: bool,
    ) -> Result<Refreshed<Moment>, Refusal> {
        self.reads.refreshes.add(1);
        let (sizes, progress, pace, clock) = (SIZES, &entry.progress, &self.pace, &Instant::now);
        let refresh = Refresh { source, sizes, progress, pace, patient: false, sweep, proof: None, clock };
        refresh.run(base, || self.changes.now(), || entry.removed_meanwhile()).await
    }
}

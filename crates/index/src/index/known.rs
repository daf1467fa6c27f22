//! An index as this process knows it, with the reads of other processes applied.
//!
//! The rows that v1 showed and the later writes of this process are kept apart here, because a read of another process
//! may be older than a local write. Such a read is applied beneath the local writes that came after it. The same is
//! done for a read of this process that was under way during the writes.
//!
//! A read of another process is applied only when all of it came after the known read. If the known read has a number,
//! the numbers decide, because reads get their numbers in order and do not overlap. Otherwise the clock decides. A read
//! that comes twice or late is skipped. A missing number does no harm by itself: the next read fits only when nothing
//! that matters was in the missing one, as after a time in which nothing was read (`delta`).
//!
//! May use: `fresh`, this folder.

use super::build::Sizes;
use super::delta::Delta;
use super::local_write::LocalWrite;
use super::refresh::Refreshed;
use super::verified::Verified;
use crate::fresh::{Changes, Moment};
use std::collections::HashSet;
use std::time::Instant;

/// The rows that v1 showed, without the local writes that came after.
#[derive(Debug, Clone)]
pub(super) struct RowsFromV1 {
    pub verified: Verified,
    /// The number under which all processes know these rows, if they do.
    pub number: Option<i64>,
    /// When the last answer had arrived, or later.
    pub ended: Instant,
}

/// An index that is being brought up to date.
pub(super) struct IndexInProgress {
    pub shown: RowsFromV1,
    /// The index as it was found, with the local writes until then.
    found: Verified,
    /// Whether a read of another process was applied.
    pub has_applied: bool,
    /// When the read of the index began.
    pub began: Moment,
    /// When all ids were last compared.
    pub swept: Option<Instant>,
}

/// A read of another process.
pub(super) struct ReceivedRead<T> {
    pub number: i64,
    /// When the turn of the read began, by our clock, or earlier.
    pub at: Instant,
    pub what: T,
}

impl IndexInProgress {
    /// Takes an index in memory: with local writes (`found`), as v1 showed it (`shown`), and the start of its read.
    pub fn kept(found: Verified, shown: RowsFromV1, began: Moment, swept: Option<Instant>) -> Self {
        Self { shown, found, has_applied: false, began, swept }
    }

    /// Takes an index that was found elsewhere by `now` and that may have been read long ago. When it is not known when
    /// all ids were last `swept`, that is taken to be now.
    pub fn found(verified: Verified, now: Moment, swept: Option<Instant>) -> Self {
        let shown = RowsFromV1 { verified: verified.clone(), number: None, ended: now.at };
        Self::kept(verified, shown, now, Some(swept.unwrap_or(now.at)))
    }

    /// Checks whether a read with this number, in a turn that began at `at`, came completely after the known read.
    fn can_follow(&self, number: i64, at: Instant) -> bool {
        self.shown.number.map_or(at >= self.shown.ended, |known| number > known)
    }

    /// Applies the answers that v1 gave to another process. `local` are all local writes since the known read began.
    /// `now` is the end of the read of the other process, or later. Returns whether the answers could be applied.
    pub async fn follow(
        &mut self,
        heard: ReceivedRead<Delta>,
        local: &[(Instant, LocalWrite)],
        sizes: Sizes,
        changes: &Changes,
        now: Instant,
    ) -> bool {
        let ReceivedRead { number, at, what: delta } = heard;
        if !self.can_follow(number, at) {
            return false;
        }
        let at = at.max(self.began.at);
        let mut base = self.shown.verified.clone();
        write(&mut base, local.iter().filter(|(made, _)| *made < at).cloned());
        base.rows.apply(Vec::new(), &delta.gone.iter().copied().collect());
        let meanwhile: HashSet<_> = delta.gone_meanwhile.iter().copied().collect();
        let Some(refreshed) = delta.replay(base, sizes, at).await else { return false };
        let mut verified = refreshed.verified;
        verified.rows.apply(Vec::new(), &meanwhile);
        verified.seen_by(at, now);
        self.reached(verified, number, changes.later_moment_at(refreshed.mark, self.began), now);
        if refreshed.swept {
            self.swept = Some(self.began.at);
        }
        true
    }

    /// Takes over the whole index of another process. Returns whether that was possible.
    pub fn replace(&mut self, heard: ReceivedRead<Verified>, changes: &Changes, now: Instant) -> bool {
        let can_follow = self.can_follow(heard.number, heard.at);
        if can_follow {
            let began = changes.later_moment_at(heard.at, self.began);
            self.reached(heard.what, heard.number, began, now);
            self.swept = Some(began.at);
        }
        can_follow
    }

    fn reached(&mut self, verified: Verified, number: i64, began: Moment, now: Instant) {
        self.shown = RowsFromV1 { verified, number: Some(number), ended: now };
        (self.has_applied, self.began) = (true, began);
    }

    /// Returns the known rows with these local writes, which are all that came after the read; and the rows without
    /// them.
    pub fn with(&self, local: Vec<(Instant, LocalWrite)>) -> (Verified, RowsFromV1) {
        let mut verified = self.shown.verified.clone();
        write(&mut verified, local);
        (verified, self.shown.clone())
    }

    /// Returns the rows with which a refresh of this process begins: the applied rows, or the found rows when no read
    /// was applied, with the local writes, which are all that came after the read. Without known writes: the found
    /// rows.
    pub fn base(&self, local: Option<Vec<(Instant, LocalWrite)>>) -> Verified {
        match local {
            Some(local) if self.has_applied => self.with(local).0,
            local => {
                let mut found = self.found.clone();
                write(&mut found, local.into_iter().flatten());
                found
            }
        }
    }
}

/// Result of a read.
pub(super) struct ReadResult {
    /// The rows, with all local writes before the read.
    pub verified: Verified,
    /// All changes up to this moment are in the rows.
    pub mark: Moment,
    /// When all ids were last compared, if known.
    pub swept: Option<Instant>,
    /// The rows that v1 showed, without local writes; only where processes share their reads.
    pub shown: Option<RowsFromV1>,
}

impl ReadResult {
    /// Builds the result of a read of v1. `swept` is when all ids were last compared before the read.
    pub fn of(refreshed: Refreshed<Moment>, swept: Option<Instant>, shown: Option<RowsFromV1>) -> Self {
        let Refreshed { verified, mark, swept: is_swept } = refreshed;
        Self { verified, mark, swept: if is_swept { Some(mark.at) } else { swept }, shown }
    }
}

/// Applies local writes to the rows that v1 showed.
fn write(verified: &mut Verified, local: impl IntoIterator<Item = (Instant, LocalWrite)>) {
    for (_, local) in local {
        local.apply(&mut verified.rows);
    }
}

//! An index as far as it is known, and how far others have brought it.
//!
//! The rows v1 showed and the writes of this process since then are kept apart here, because a read of another process
//! may be older than a local write: it is taken in beneath the local writes that came after it, as in a read of this
//! process that was under way while they were made.
//!
//! A read of another process is taken in only when all of it came after the read that is known: by its number where the
//! known one has one, because numbers are told in the order of reads that do not overlap, else by the clock. A read
//! that came twice or late is passed over. A number that is missing does no harm by itself: the read that follows fits
//! only when nothing that matters was in the missing one, as after a time in which nobody read (`delta`).
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

/// What v1 showed, without local writes that came after.
#[derive(Debug, Clone)]
pub(super) struct Shown {
    pub verified: Verified,
    /// The number under which all processes know of it, if they do.
    pub number: Option<i64>,
    /// When the last answer was there, or later.
    pub ended: Instant,
}

/// An index being brought up to date.
pub(super) struct Known {
    pub shown: Shown,
    /// As it was found, with the local writes until then.
    found: Verified,
    /// Whether anything was taken in.
    pub has_heard: bool,
    /// When its read began.
    pub began: Moment,
    /// When all ids were compared last.
    pub swept: Option<Instant>,
}

/// Something that another process has read.
pub(super) struct Heard<T> {
    pub number: i64,
    /// When the turn began in which it was read, by our clock, or earlier.
    pub at: Instant,
    pub what: T,
}

impl Known {
    /// An index in memory, read then: as it is with local writes, and as v1 showed it.
    pub fn kept(found: Verified, shown: Shown, began: Moment, swept: Option<Instant>) -> Self {
        Self { shown, found, has_heard: false, began, swept }
    }

    /// An index that was found somewhere by `now`, and may have been read long ago.
    pub fn found(verified: Verified, now: Moment) -> Self {
        let shown = Shown { verified: verified.clone(), number: None, ended: now.at };
        Self::kept(verified, shown, now, Some(now.at))
    }

    /// Whether what was read under this number, in a turn that began then, was read wholly after this.
    fn can_follow(&self, number: i64, at: Instant) -> bool {
        self.shown.number.map_or(at >= self.shown.ended, |known| number > known)
    }

    /// Takes in what v1 has answered another process; `local` are all local writes since this was read, `now` is the
    /// end of that read or later. Tells whether it could be.
    pub async fn follow(
        &mut self,
        heard: Heard<Delta>,
        local: &[(Instant, LocalWrite)],
        sizes: Sizes,
        changes: &Changes,
        now: Instant,
    ) -> bool {
        let Heard { number, at, what: delta } = heard;
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

    /// Takes in what another process knows altogether. Tells whether it could be.
    pub fn replace(&mut self, heard: Heard<Verified>, changes: &Changes, now: Instant) -> bool {
        let can_follow = self.can_follow(heard.number, heard.at);
        if can_follow {
            let began = changes.later_moment_at(heard.at, self.began);
            self.reached(heard.what, heard.number, began, now);
            self.swept = Some(began.at);
        }
        can_follow
    }

    fn reached(&mut self, verified: Verified, number: i64, began: Moment, now: Instant) {
        self.shown = Shown { verified, number: Some(number), ended: now };
        (self.has_heard, self.began) = (true, began);
    }

    /// What was taken in, with these local writes, which are all that came after it was read.
    pub fn with(&self, local: Vec<(Instant, LocalWrite)>) -> (Verified, Shown) {
        let mut verified = self.shown.verified.clone();
        write(&mut verified, local);
        (verified, self.shown.clone())
    }

    /// What a refresh of this process begins with: what was taken in, or what was found where nothing was, with these
    /// own writes, which are all that came after it was read. Where they are not known it is what was found.
    pub fn base(&self, local: Option<Vec<(Instant, LocalWrite)>>) -> Verified {
        match local {
            Some(local) if self.has_heard => self.with(local).0,
            local => {
                let mut found = self.found.clone();
                write(&mut found, local.into_iter().flatten());
                found
            }
        }
    }
}

/// What a read has come to.
pub(super) struct Got {
    /// The rows, with all local writes before the read.
    pub verified: Verified,
    /// Everything up to here is in it.
    pub mark: Moment,
    /// When all ids were compared last, if that is known.
    pub swept: Option<Instant>,
    /// What v1 showed, without local writes; only where processes tell each other.
    pub shown: Option<Shown>,
}

impl Got {
    /// Of a read of v1, before which all ids were compared last at `swept`.
    pub fn of(refreshed: Refreshed<Moment>, swept: Option<Instant>, shown: Option<Shown>) -> Self {
        let Refreshed { verified, mark, swept: is_swept } = refreshed;
        Self { verified, mark, swept: if is_swept { Some(mark.at) } else { swept }, shown }
    }
}

/// Carries local writes into what v1 showed.
fn write(verified: &mut Verified, local: impl IntoIterator<Item = (Instant, LocalWrite)>) {
    for (_, local) in local {
        local.apply(&mut verified.rows);
    }
}

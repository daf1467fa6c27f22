//! One scope: its index, how old it is, what touched it, and the own writes a read under way must not undo.
//!
//! May use: `refusal`, this folder.

use super::own::Own;
use super::progress::Progress;
use super::project_index::Index;
use super::refresh::Verified;
use super::snapshot::Snapshot;
use parking_lot::{Mutex, MutexGuard};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// When a read of v1 began, on the clock and in the order of events.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stamp {
    pub at: Instant,
    pub tick: u64,
}

/// What a request needs: an index read after this.
#[derive(Debug, Clone, Copy)]
pub(super) struct Need {
    since: Option<Instant>,
    after: u64,
}

impl Need {
    /// Whether a read with this stamp is new enough.
    pub fn is_met(&self, stamp: Stamp) -> bool {
        stamp.tick > self.after && self.since.is_none_or(|since| stamp.at >= since)
    }
}

/// An index and when it was read.
#[derive(Clone)]
pub(super) struct Found {
    pub index: Arc<Index>,
    pub stamp: Stamp,
}

/// What is known of one scope.
pub(super) struct Entry {
    pub progress: Progress,
    snapshot: Option<Snapshot>,
    /// Held while the file is read or written.
    file: Mutex<()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    found: Option<Found>,
    /// The last event that may have changed something on v1.
    touched: u64,
    /// The last use, for eviction.
    used: u64,
    /// When a request last asked for it.
    asked: Option<Instant>,
    swept: Option<Instant>,
    /// Own writes since the read under way began.
    own: Option<Vec<Own>>,
    /// Whether the file is older than the rows.
    unsaved: bool,
    /// Whether it will be written soon.
    scheduled: bool,
}

impl Entry {
    /// A scope of which nothing is known.
    pub fn new(snapshot: Option<Snapshot>) -> Self {
        Self { progress: Progress::default(), snapshot, file: Mutex::default(), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// What a request needs that comes now.
    pub fn need(&self, freshness: Duration) -> Need {
        Need { since: Instant::now().checked_sub(freshness), after: self.state().touched }
    }

    /// A request asks for the index.
    pub fn asked(&self) {
        self.state().asked = Some(Instant::now());
    }

    /// Whether a request asked within `within`, and there is an index.
    pub fn is_in_use(&self, within: Duration) -> bool {
        let state = self.state();
        state.found.is_some() && state.asked.is_some_and(|asked| asked.elapsed() <= within)
    }

    /// The index, when it is new enough.
    pub fn meeting(&self, need: &Need, tick: u64) -> Option<Arc<Index>> {
        let mut state = self.state();
        state.used = tick;
        state.found.as_ref().filter(|found| need.is_met(found.stamp)).map(|found| Arc::clone(&found.index))
    }

    /// The index as it is.
    pub fn any_age(&self) -> Option<Arc<Index>> {
        self.state().found.as_ref().map(|found| Arc::clone(&found.index))
    }

    /// The index, when it is new enough, and when it was read.
    pub fn aged(&self, need: &Need) -> Option<(Arc<Index>, Instant)> {
        let state = self.state();
        let found = state.found.as_ref().filter(|found| need.is_met(found.stamp))?;
        Some((Arc::clone(&found.index), found.stamp.at))
    }

    /// Whether there is an index of any age, or one on disk.
    pub fn is_built(&self) -> bool {
        self.state().found.is_some() || self.snapshot.as_ref().is_some_and(Snapshot::exists)
    }

    /// Something may have changed on v1.
    pub fn touch(&self, tick: u64) {
        self.state().touched = tick;
    }

    /// Takes an own write in; tells whether the file should be written soon.
    pub fn own(&self, own: &Own) -> bool {
        let mut state = self.state();
        if let Some(log) = &mut state.own {
            log.push(own.clone());
        }
        let Some(found) = &state.found else { return false };
        let mut verified = found.index.verified.clone();
        if !own.clone().apply(&mut verified.rows) {
            return false;
        }
        let stamp = found.stamp;
        state.found = Some(Found { index: Arc::new(Index::new(verified)), stamp });
        state.unsaved = true;
        true
    }

    /// A read begins: own writes are noted from now on. Answers the index to begin with, and when it was last
    /// swept.
    pub fn begin(&self) -> (Option<Arc<Index>>, Option<Instant>) {
        let mut state = self.state();
        state.own = Some(Vec::new());
        (state.found.as_ref().map(|found| Arc::clone(&found.index)), state.swept)
    }

    /// Items this gateway has removed since the read began.
    pub fn gone(&self) -> HashSet<Uuid> {
        let state = self.state();
        let gone = |own: &Own| if let Own::Gone(id) = own { Some(*id) } else { None };
        state.own.iter().flatten().filter_map(gone).collect()
    }

    /// A read ended without rows.
    pub fn abandon(&self) {
        self.state().own = None;
    }

    /// A read ended: its rows with the own writes since it began. Kept unless it holds more than `most` bytes.
    pub fn publish(&self, mut verified: Verified, stamp: Stamp, swept: bool, most: usize) -> Found {
        let mut state = self.state();
        for own in state.own.take().into_iter().flatten() {
            own.apply(&mut verified.rows);
        }
        let index = Index::new(verified);
        if index.bytes() > most {
            state.found = None;
            return Found { index: Arc::new(index.into_scan()), stamp };
        }
        if swept {
            state.swept = Some(stamp.at);
        }
        let found = Found { index: Arc::new(index), stamp };
        let before = state.found.replace(found.clone());
        state.unsaved |= before.is_none_or(|before| before.index.verified.differs(&found.index.verified));
        found
    }

    /// Bytes held, and the last use.
    pub fn weight(&self) -> (usize, u64) {
        let state = self.state();
        (state.found.as_ref().map_or(0, |found| found.index.bytes()), state.used)
    }

    /// Drops the index from memory; answers it when the file is older.
    pub fn evict(&self) -> Option<Arc<Index>> {
        let mut state = self.state();
        let found = state.found.take()?;
        std::mem::take(&mut state.unsaved).then_some(found.index)
    }

    /// Whether it is kept on disk.
    pub fn has_file(&self) -> bool {
        self.snapshot.is_some()
    }

    /// Reads the file. Waits for the disk.
    pub fn load(&self) -> Option<Verified> {
        let _file = self.file.lock();
        self.snapshot.as_ref()?.load()
    }

    /// Writes the file when it is older than the rows; when this returns, it is not. Waits for the disk.
    pub fn save(&self) {
        let _file = self.file.lock();
        if let (Some(snapshot), Some(index)) = (&self.snapshot, self.unsaved()) {
            snapshot.save(&index.verified);
        }
    }

    /// Writes an index that was evicted, unless a newer one has come. Waits for the disk.
    pub fn save_evicted(&self, index: &Index) {
        let _file = self.file.lock();
        let superseded = self.state().found.is_some();
        if let Some(snapshot) = self.snapshot.as_ref().filter(|_| !superseded) {
            snapshot.save(&index.verified);
        }
    }

    /// Notes that the file will be written soon; false when there is no need to see to it.
    pub fn schedule(&self) -> bool {
        let mut state = self.state();
        state.unsaved && !std::mem::replace(&mut state.scheduled, true)
    }

    /// The time to write the file has come.
    pub fn unschedule(&self) {
        self.state().scheduled = false;
    }

    /// The index, when the file is older; it counts as written from now on.
    fn unsaved(&self) -> Option<Arc<Index>> {
        let mut state = self.state();
        if !std::mem::take(&mut state.unsaved) {
            return None;
        }
        state.found.as_ref().map(|found| Arc::clone(&found.index))
    }
}

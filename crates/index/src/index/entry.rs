//! State of one scope beside its index: the progress of a read, the last request, and the rows that its files lack.
//!
//! May use: `v2`, `v1` (keys), this folder.

use super::files::{Files, can_continue, is_too_old};
use super::local_write::{LocalWrite, LocalWriteLog};
use super::progress::Progress;
use super::project_index::Index;
use super::verified::Verified;
use super::walk::Walk;
use crate::v1::KeyId;
use crate::v2::time::Micros;
use parking_lot::{Mutex, MutexGuard};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Interval between two writes of the pages of a build.
const EVERY: Duration = Duration::from_secs(10);

/// State of one scope beside its index.
pub(super) struct Entry {
    pub progress: Progress,
    files: Option<Files>,
    /// Held while a file is read or written.
    file: Mutex<()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// When a request last asked for the index.
    asked: Option<Instant>,
    swept: Option<Instant>,
    /// The key with which the read under way asks v1.
    reader: Option<KeyId>,
    /// Items that local writes have removed since the read under way began.
    gone: Option<HashSet<Uuid>>,
    /// The last local writes.
    local: LocalWriteLog,
    /// Whether the file is older than the rows.
    unsaved: bool,
    /// Whether a write of the file is scheduled.
    scheduled: bool,
    /// Whether it is scheduled that the index is kept for other processes.
    sharing: bool,
    /// The pages of an unfinished build, and since when the file lacks some of them.
    walk: Option<Walk>,
    walk_unsaved: Option<Instant>,
}

impl Entry {
    /// Creates the entry of a scope of which nothing is known.
    pub fn new(files: Option<Files>) -> Self {
        Self { progress: Progress::default(), files, file: Mutex::default(), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Notes that a request asks for the index.
    pub fn note_request(&self) {
        self.state().asked = Some(Instant::now());
    }

    /// Checks whether a request asked within the last `within`.
    pub fn is_in_use(&self, within: Duration) -> bool {
        self.state().asked.is_some_and(|asked| asked.elapsed() <= within)
    }

    /// Notes a local write. An item that it removes is noted while a read is under way. Where indices are shared (`at`
    /// is set), the whole write is noted with its time.
    pub fn note_local_write(&self, write: &LocalWrite, at: Option<Instant>) {
        let mut state = self.state();
        if let (LocalWrite::Gone(id), Some(gone)) = (write, &mut state.gone) {
            gone.insert(*id);
        }
        if let Some(at) = at {
            state.local.note(at, write.clone());
        }
    }

    /// Returns all local writes from `since` on; none when not all of them are known.
    pub fn local_writes_since(&self, since: Instant) -> Option<Vec<(Instant, LocalWrite)>> {
        self.state().local.since(since)
    }

    /// Begins the read again with all local writes from `since` on, and returns the writes. Only later removals are
    /// noted then. None when not all writes are known; the noting then continues unchanged.
    pub fn restart_read(&self, since: Instant) -> Option<Vec<(Instant, LocalWrite)>> {
        let mut state = self.state();
        let local = state.local.since(since)?;
        state.gone = Some(HashSet::new());
        Some(local)
    }

    /// Forgets the local writes before `read`, because the rows that were read at that time are kept.
    pub fn drop_local_writes_before(&self, read: Instant) {
        self.state().local.drop_before(read);
    }

    /// Begins a read with this key: removed items are noted from now on. Returns when the index was last swept.
    pub fn begin_read(&self, key: KeyId) -> Option<Instant> {
        let mut state = self.state();
        state.reader = Some(key);
        state.gone = Some(HashSet::new());
        state.swept
    }

    /// Checks whether a read with another key is under way.
    pub fn is_read_by_another(&self, key: KeyId) -> bool {
        self.state().reader.is_some_and(|reader| reader != key)
    }

    /// Returns the items that this gateway has removed since the read began.
    pub fn removed_meanwhile(&self) -> HashSet<Uuid> {
        self.state().gone.clone().unwrap_or_default()
    }

    /// Ends the read.
    pub fn end_read(&self) {
        {
            let mut state = self.state();
            (state.reader, state.gone) = (None, None);
        }
        self.progress.end();
    }

    /// Notes that all ids were compared.
    pub fn note_sweep(&self, at: Instant) {
        self.state().swept = Some(at);
    }

    /// Checks whether the index is kept on disk.
    pub fn has_file(&self) -> bool {
        self.files.is_some()
    }

    /// Notes that the rows are newer than the file.
    pub fn mark_unsaved(&self) {
        self.state().unsaved = true;
    }

    /// Tells whether the file is older than the rows, and clears that note. The caller then writes the file.
    pub fn take_unsaved(&self) -> bool {
        std::mem::take(&mut self.state().unsaved)
    }

    /// Reads the file. Waits for the disk.
    pub fn load(&self) -> Option<Verified> {
        let _file = self.file.lock();
        self.files.as_ref()?.load_index()
    }

    /// Writes the file if it is older than the rows of `index`. Returns when the file is written. Waits for the disk.
    pub fn save(&self, index: impl FnOnce() -> Option<Arc<Index>>) {
        let _file = self.file.lock();
        if let (Some(files), true) = (&self.files, self.take_unsaved())
            && let Some(index) = index()
        {
            files.save_index(&index.verified);
        }
    }

    /// Writes an index that was evicted, unless a newer one exists. Waits for the disk.
    pub fn save_evicted(&self, index: &Index, is_superseded: impl FnOnce() -> bool) {
        let _file = self.file.lock();
        if let Some(files) = self.files.as_ref().filter(|_| !is_superseded()) {
            files.save_index(&index.verified);
        }
    }

    /// Notes that a write of the file is scheduled. Returns false when none is needed or one is scheduled already.
    pub fn schedule(&self) -> bool {
        let mut state = self.state();
        state.unsaved && !std::mem::replace(&mut state.scheduled, true)
    }

    /// Notes that the scheduled write begins.
    pub fn unschedule(&self) {
        self.state().scheduled = false;
    }

    /// Notes that keeping the index for other processes is scheduled. Returns false when that is noted already.
    pub fn schedule_sharing(&self) -> bool {
        !std::mem::replace(&mut self.state().sharing, true)
    }

    /// Notes that the scheduled keeping begins.
    pub fn unschedule_sharing(&self) {
        self.state().sharing = false;
    }

    /// Keeps the pages that a build has read so far. Returns true when it is time to write them to disk.
    pub fn keep_walk(&self, walk: &Walk) -> bool {
        let mut state = self.state();
        state.walk = Some(walk.clone());
        let since = *state.walk_unsaved.get_or_insert_with(Instant::now);
        self.has_file() && since.elapsed() >= EVERY
    }

    /// Writes the pages that a build has read so far, if there are new ones. Waits for the disk.
    pub fn save_walk(&self) {
        let _file = self.file.lock();
        let Some(files) = &self.files else { return };
        let walk = {
            let mut state = self.state();
            state.walk_unsaved.take().and_then(|_| state.walk.clone())
        };
        if let Some(walk) = walk {
            files.save_pages(&walk);
        }
    }

    /// Returns the pages of an unfinished build, if a new build can continue with them. Waits for the disk.
    pub fn load_walk(&self, size: usize, now: Micros) -> Option<Walk> {
        let _file = self.file.lock();
        let walk = self.state().walk.clone();
        match walk {
            Some(walk) => Some(walk).filter(|walk| can_continue(walk, size, now)),
            None => self.files.as_ref()?.load_pages(size, now),
        }
    }

    /// Drops the pages of an unfinished build from memory if no build can continue with them any more.
    pub fn drop_old_walk(&self, now: Micros) {
        let mut state = self.state();
        if state.walk.as_ref().is_some_and(|walk| is_too_old(walk, now)) {
            (state.walk, state.walk_unsaved) = (None, None);
        }
    }

    /// Drops the pages of a build that has ended, or pages that are of no use. Waits for the disk.
    pub fn drop_walk(&self) {
        let _file = self.file.lock();
        {
            let mut state = self.state();
            (state.walk, state.walk_unsaved) = (None, None);
        }
        if let Some(files) = &self.files {
            files.pages.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_a_failed_build_are_dropped_when_they_are_too_old() {
        let (entry, begun, hour) = (Entry::new(None), 7, 3_600_000_000);
        entry.keep_walk(&Walk::new(10, begun));
        entry.drop_old_walk(begun + hour - 1);
        assert!(entry.state().walk.is_some());
        entry.drop_old_walk(begun + hour);
        assert!(entry.state().walk.is_none());
    }
}

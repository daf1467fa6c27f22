//! What is known of one scope beside its index: how far a read has come, who has asked, and what its files lack.
//!
//! May use: `v2`, `v1` (keys), this folder.

use super::files::{Files, can_go_on};
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

/// Time between two writings of the pages of a build.
const EVERY: Duration = Duration::from_secs(10);

/// What is known of one scope.
pub(super) struct Entry {
    pub progress: Progress,
    files: Option<Files>,
    /// Held while a file is read or written.
    file: Mutex<()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// When a request last asked for it.
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
    /// Whether it will be written soon.
    scheduled: bool,
    /// Whether it will be kept for other processes soon.
    sharing: bool,
    /// The pages of a build that has not ended, and since when their file lacks some.
    walk: Option<Walk>,
    walk_unsaved: Option<Instant>,
}

impl Entry {
    /// A scope of which nothing is known.
    pub fn new(files: Option<Files>) -> Self {
        Self { progress: Progress::default(), files, file: Mutex::default(), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// A request asks for the index.
    pub fn note_request(&self) {
        self.state().asked = Some(Instant::now());
    }

    /// Whether a request asked within `within`.
    pub fn is_in_use(&self, within: Duration) -> bool {
        self.state().asked.is_some_and(|asked| asked.elapsed() <= within)
    }

    /// A local write; an item it removes is noted while a read is under way, and where indices are shared the whole
    /// write is noted, with the time.
    pub fn note_local_write(&self, write: &LocalWrite, at: Option<Instant>) {
        let mut state = self.state();
        if let (LocalWrite::Gone(id), Some(gone)) = (write, &mut state.gone) {
            gone.insert(*id);
        }
        if let Some(at) = at {
            state.local.note(at, write.clone());
        }
    }

    /// All local writes from `since` on; none when not all of them are known.
    pub fn local_writes_since(&self, since: Instant) -> Option<Vec<(Instant, LocalWrite)>> {
        self.state().local.since(since)
    }

    /// A read begins anew with all local writes from `since` on, which are answered, so that only those to come are
    /// noted. None when not all of them are known; then the noting goes on.
    pub fn restart_read(&self, since: Instant) -> Option<Vec<(Instant, LocalWrite)>> {
        let mut state = self.state();
        let local = state.local.since(since)?;
        state.gone = Some(HashSet::new());
        Some(local)
    }

    /// The rows that were read at `read` are kept, so that older local writes need not be known.
    pub fn drop_local_writes_before(&self, read: Instant) {
        self.state().local.drop_before(read);
    }

    /// A read with this key begins: items that are removed are noted from now on. Answers when the index was last swept.
    pub fn begin_read(&self, key: KeyId) -> Option<Instant> {
        let mut state = self.state();
        state.reader = Some(key);
        state.gone = Some(HashSet::new());
        state.swept
    }

    /// Whether another key reads.
    pub fn is_read_by_another(&self, key: KeyId) -> bool {
        self.state().reader.is_some_and(|reader| reader != key)
    }

    /// Items this gateway has removed since the read began.
    pub fn removed_meanwhile(&self) -> HashSet<Uuid> {
        self.state().gone.clone().unwrap_or_default()
    }

    /// A read ended.
    pub fn end_read(&self) {
        {
            let mut state = self.state();
            (state.reader, state.gone) = (None, None);
        }
        self.progress.end();
    }

    /// All ids were compared.
    pub fn note_sweep(&self, at: Instant) {
        self.state().swept = Some(at);
    }

    /// Whether it is kept on disk.
    pub fn has_file(&self) -> bool {
        self.files.is_some()
    }

    /// The rows have become newer than the file.
    pub fn mark_unsaved(&self) {
        self.state().unsaved = true;
    }

    /// Whether the file is older than the rows; a caller that hears this writes it.
    pub fn take_unsaved(&self) -> bool {
        std::mem::take(&mut self.state().unsaved)
    }

    /// Reads the file. Waits for the disk.
    pub fn load(&self) -> Option<Verified> {
        let _file = self.file.lock();
        self.files.as_ref()?.load_index()
    }

    /// Writes the file when it is older than the rows of `index`; when this returns, it is not. Waits for the disk.
    pub fn save(&self, index: impl FnOnce() -> Option<Arc<Index>>) {
        let _file = self.file.lock();
        if let (Some(files), true) = (&self.files, self.take_unsaved())
            && let Some(index) = index()
        {
            files.save_index(&index.verified);
        }
    }

    /// Writes an index that was evicted, unless a newer one has come. Waits for the disk.
    pub fn save_evicted(&self, index: &Index, is_superseded: impl FnOnce() -> bool) {
        let _file = self.file.lock();
        if let Some(files) = self.files.as_ref().filter(|_| !is_superseded()) {
            files.save_index(&index.verified);
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

    /// Notes that the index will be kept for other processes soon; false when that is noted already.
    pub fn schedule_sharing(&self) -> bool {
        !std::mem::replace(&mut self.state().sharing, true)
    }

    /// The time to keep it has come.
    pub fn unschedule_sharing(&self) {
        self.state().sharing = false;
    }

    /// Keeps what a build has read so far; true when it is time to write it to disk.
    pub fn keep_walk(&self, walk: &Walk) -> bool {
        let mut state = self.state();
        state.walk = Some(walk.clone());
        let since = *state.walk_unsaved.get_or_insert_with(Instant::now);
        self.has_file() && since.elapsed() >= EVERY
    }

    /// Writes what a build has read so far, if it has read any more. Waits for the disk.
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

    /// What a build that has not ended has read and that can be gone on with. Waits for the disk.
    pub fn load_walk(&self, size: usize, now: Micros) -> Option<Walk> {
        let _file = self.file.lock();
        let walk = self.state().walk.clone();
        match walk {
            Some(walk) => Some(walk).filter(|walk| can_go_on(walk, size, now)),
            None => self.files.as_ref()?.load_pages(size, now),
        }
    }

    /// The build has ended, or its pages are of no use. Waits for the disk.
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

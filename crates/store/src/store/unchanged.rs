//! Counters of the database that need not be read again, because nothing was written since they were read.
//!
//! A counter read after the last write of this process is what a SQLite file says, unless somebody else has written to
//! the file: a command such as `causeway store sweep`. Every write shows in the size or time of the log beside the
//! file, which costs a microsecond to look at. Times of files are coarse, so a counter counts for a second at most.
//! Behind PostgreSQL there may be other processes at any time, so there nothing is known without a statement.
//!
//! And whether the file is still where it was opened. One that was removed, renamed or replaced goes on for those who
//! have it open, and what is written to it then is lost with them; connections that are made later lead to another file.
//! So the store cannot be used from then on, until the program is restarted, also when the file is put back. May use:
//! `place`.

use super::place::file_of;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};
use uuid::Uuid;

/// How long a counter counts.
const LASTING: Duration = Duration::from_secs(1);
/// Counters kept; with more of them all are read again.
const MOST: usize = 100_000;

/// Write transactions of this process that have ended, whatever their end.
#[derive(Debug, Clone, Default)]
pub(super) struct Writes(Arc<AtomicU64>);

impl Writes {
    /// For one that begins; to be dropped when it has ended, and before anybody is told of its success.
    pub(super) fn ending(&self) -> Ending {
        Ending(self.clone())
    }

    /// How many have ended; to be taken before a counter is read.
    pub(super) fn so_far(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// The end of a write transaction, noted when this is dropped.
#[derive(Debug)]
pub(super) struct Ending(Writes);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// The log of a SQLite file; none of one in memory, which nobody else can write to.
#[derive(Debug, Clone, Default)]
pub(super) struct Log(Option<Arc<Path>>);

/// How a log was at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Seen {
    writes: u64,
    size: u64,
    changed: Option<SystemTime>,
}

impl Log {
    /// That of the store at `url`.
    pub(super) fn of(url: &str) -> Self {
        let file = file_of(url);
        Self(file.map(|file| PathBuf::from(format!("{}-wal", file.display())).into()))
    }

    /// How it is now; to be looked at before a counter is read. A log that is not there was never written to.
    pub(super) fn look(&self, writes: &Writes) -> Seen {
        let writes = writes.so_far();
        let log = self.0.as_ref().and_then(|path| std::fs::metadata(path).ok());
        let (size, changed) = log.map_or((0, None), |log| (log.len(), log.modified().ok()));
        Seen { writes, size, changed }
    }
}

/// Counters by the record they belong to.
#[derive(Debug, Clone, Default)]
pub(super) struct Unchanged(Arc<Mutex<HashMap<Uuid, Counter>>>);

#[derive(Debug)]
struct Counter {
    value: i64,
    seen: Seen,
    at: Instant,
}

impl Unchanged {
    /// The counter of `key`, when nothing was written since it was read: the log is now as `seen`.
    pub(super) fn get(&self, key: Uuid, seen: Seen) -> Option<i64> {
        let counters = self.0.lock();
        let counter = counters.get(&key)?;
        (counter.seen == seen && counter.at.elapsed() < LASTING).then_some(counter.value)
    }

    /// The counter of `key` was read, after the log was `seen` at this time.
    pub(super) fn saw(&self, key: Uuid, value: i64, seen: Seen, at: Instant) {
        let mut counters = self.0.lock();
        if counters.len() >= MOST {
            counters.clear();
        }
        if counters.get(&key).is_none_or(|newer| newer.at <= at) {
            counters.insert(key, Counter { value, seen, at });
        }
    }
}

/// Where a file was when it was opened, and which one it was; nothing for a store without a file.
#[derive(Debug, Clone)]
pub(super) struct InPlace(Option<Arc<Opened>>);

#[derive(Debug)]
struct Opened {
    file: Box<Path>,
    id: FileId,
    /// Whether it was found not to be there.
    is_lost: AtomicBool,
}

/// Device and number of a file.
type FileId = (u64, u64);

impl InPlace {
    /// The file of the store at `url`, which is open now.
    pub(super) fn of(url: &str) -> Self {
        let opened =
            |file: PathBuf| Some(Opened { id: file_id(&file)?, file: file.into(), is_lost: AtomicBool::default() });
        Self(file_of(url).and_then(opened).map(Arc::new))
    }

    /// Whether it was there all the time. A look at a file takes about a microsecond.
    pub(super) fn is_kept(&self) -> bool {
        let Some(opened) = &self.0 else { return true };
        if opened.is_lost.load(Ordering::Relaxed) {
            return false;
        }
        let is_there = file_id(&opened.file) == Some(opened.id);
        if !is_there && !opened.is_lost.swap(true, Ordering::Relaxed) {
            tracing::error!(
                file = %opened.file.display(),
                "the file of the store was removed or replaced while it was open; the store cannot be used until \
                 the file is put back and the gateway is restarted"
            );
        }
        is_there
    }
}

fn file_id(file: &Path) -> Option<FileId> {
    std::fs::metadata(file).ok().map(|file| (file.dev(), file.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_counts_until_something_was_written_and_for_a_second() {
        let (unchanged, writes, key) = (Unchanged::default(), Writes::default(), Uuid::nil());
        let (log, now) = (Log::of("sqlite::memory:"), Instant::now());
        assert_eq!(unchanged.get(key, log.look(&writes)), None);
        unchanged.saw(key, 3, log.look(&writes), now);
        assert_eq!(unchanged.get(key, log.look(&writes)), Some(3));
        assert_eq!(unchanged.get(Uuid::max(), log.look(&writes)), None);
        drop(writes.ending());
        assert_eq!(unchanged.get(key, log.look(&writes)), None);
        let before = now.checked_sub(LASTING).expect("the machine has run for a second");
        unchanged.saw(Uuid::max(), 4, log.look(&writes), before);
        assert_eq!(unchanged.get(Uuid::max(), log.look(&writes)), None);
    }

    #[test]
    fn a_read_that_began_before_a_write_ended_counts_for_nobody() {
        let (unchanged, writes, key) = (Unchanged::default(), Writes::default(), Uuid::nil());
        let log = Log::default();
        let (before, at) = (log.look(&writes), Instant::now());
        drop(writes.ending());
        unchanged.saw(key, 3, before, at);
        assert_eq!(unchanged.get(key, log.look(&writes)), None);
        unchanged.saw(key, 4, log.look(&writes), Instant::now());
        unchanged.saw(key, 3, before, at);
        assert_eq!(
            unchanged.get(key, log.look(&writes)),
            Some(4),
            "an older look does not take the place of a newer"
        );
    }

    #[test]
    fn what_somebody_else_writes_to_the_file_shows() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("store.db");
        let (log, writes) = (Log::of(&format!("sqlite://{}?mode=rwc", file.display())), Writes::default());
        let before = log.look(&writes);
        std::fs::write(folder.path().join("store.db-wal"), "a frame").expect("a log");
        assert_ne!(log.look(&writes), before);
    }
}

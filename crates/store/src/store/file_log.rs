//! The log beside a SQLite file, in which every write shows, and the writes of this process.
//!
//! Requests look at it, so it is kept open: a look by its path takes twice as long. May use: `store::place`.

use super::place::file_of;
use parking_lot::RwLock;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

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
pub(super) struct Log(Option<Arc<LogFile>>);

impl Log {
    /// That of the store at `url`.
    pub(super) fn of(url: &str) -> Self {
        let file = file_of(url);
        Self(file.map(|file| Arc::new(LogFile::at(format!("{}-wal", file.display()).into()))))
    }

    /// How it is now; to be looked at before a counter is read. A log that is not there was never written to.
    pub(super) fn look(&self, writes: &Writes) -> Seen {
        let writes = writes.so_far();
        let log = self.0.as_ref().and_then(|file| file.metadata());
        let (size, changed) = log.map_or((0, None), |log| (log.len(), log.modified().ok()));
        Seen { writes, size, changed }
    }
}

#[derive(Debug)]
struct LogFile {
    path: PathBuf,
    /// The file that was last found there.
    open: RwLock<Option<File>>,
}

impl LogFile {
    fn at(path: PathBuf) -> Self {
        Self { path, open: RwLock::default() }
    }

    /// Of the file at the path; none when there is none.
    fn metadata(&self) -> Option<Metadata> {
        let known = self.open.read().as_ref().and_then(|file| file.metadata().ok());
        // SQLite deletes the log with the last connection of all processes, and the next one makes another.
        if known.as_ref().is_some_and(|log| log.nlink() > 0) {
            return known;
        }
        let file = File::open(&self.path).ok();
        let found = file.as_ref().and_then(|file| file.metadata().ok());
        *self.open.write() = file;
        found.or_else(|| std::fs::metadata(&self.path).ok())
    }
}

/// How a log was at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Seen {
    writes: u64,
    size: u64,
    changed: Option<SystemTime>,
}

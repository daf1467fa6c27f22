//! The log beside a SQLite file, which shows every write, and a count of this process's write transactions.
//!
//! Requests look at the log, so it is kept open: a look by its path takes twice as long. May use: `store::place`.

use super::place::file_of;
use parking_lot::RwLock;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// Count of this process's write transactions that have ended, with any outcome.
#[derive(Debug, Clone, Default)]
pub(super) struct Writes(Arc<AtomicU64>);

impl Writes {
    /// Returns a guard for a transaction that begins. Drop it when the transaction has ended, before reporting success.
    pub(super) fn ending(&self) -> Ending {
        Ending(self.clone())
    }
}

/// Guard of a write transaction; counts its end when dropped.
#[derive(Debug)]
pub(super) struct Ending(Writes);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// The log of a SQLite file; none for a store in memory, which no other process can write.
#[derive(Debug, Clone, Default)]
pub(super) struct Log(Option<Arc<LogFile>>);

impl Log {
    /// Returns the log of the store at `url`.
    pub(super) fn of(url: &str) -> Self {
        let log =
            |file: PathBuf| LogFile { path: format!("{}-wal", file.display()).into(), open: RwLock::default() };
        Self(file_of(url).map(log).map(Arc::new))
    }

    /// Returns the present state. Call it before reading a counter. A missing log was never written to.
    pub(super) fn look(&self, writes: &Writes) -> LogState {
        let writes = writes.0.load(Ordering::SeqCst);
        let log = self.0.as_ref().and_then(|file| file.metadata());
        let (size, changed) = log.map_or((0, None), |log| (log.len(), log.modified().ok()));
        LogState { writes, size, changed }
    }
}

#[derive(Debug)]
struct LogFile {
    path: PathBuf,
    /// The file that was last found at the path.
    open: RwLock<Option<File>>,
}

impl LogFile {
    /// Returns the metadata of the file at the path; none when there is no file.
    fn metadata(&self) -> Option<Metadata> {
        let known = self.open.read().as_ref().and_then(|file| file.metadata().ok());
        // SQLite deletes the log when the last connection of all processes closes; the next one creates a new log.
        if known.as_ref().is_some_and(|log| log.nlink() > 0) {
            return known;
        }
        let file = File::open(&self.path).ok();
        let found = file.as_ref().and_then(|file| file.metadata().ok());
        *self.open.write() = file;
        found.or_else(|| std::fs::metadata(&self.path).ok())
    }
}

/// State of a log at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct LogState {
    writes: u64,
    size: u64,
    changed: Option<SystemTime>,
}

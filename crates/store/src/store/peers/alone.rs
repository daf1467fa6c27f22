//! Locks beside a SQLite file that live as long as the process that took them: one process serves the file, and one run
//! moves its data elsewhere.
//!
//! Other commands work at the same time; they keep nothing in memory. A lock is on a file of its own, because closing
//! SQLite's own files would end the locks that SQLite has on them.
//!
//! May use: `place`.

use crate::store::place::private;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// Time between two attempts.
const AGAIN: Duration = Duration::from_millis(50);

/// File extension of the lock of the process that serves.
pub const SERVES: &str = "lock";
/// File extension of the lock of the run that moves data.
pub const CARRIES: &str = "leave-lock";

/// The lock; released when this is dropped or the process ends.
#[derive(Debug)]
pub struct FileLock(#[allow(dead_code)] File);

/// Whether this process serves the file of its store; shared by all users of the store.
#[derive(Debug, Default)]
pub enum Serving {
    /// It does not serve, or there is no file.
    #[default]
    No,
    /// The file could only be read when the process began.
    WithoutLock(PathBuf),
    /// The same, and another process has taken the lock since.
    BesideAWriter(PathBuf),
    /// The process has the lock.
    WithLock(#[allow(dead_code)] FileLock),
}

/// Reason why the lock was not taken.
#[derive(Debug)]
pub enum NotTaken {
    /// Another process has it.
    Taken,
    /// Its file cannot be opened.
    Unusable {
        /// The file of the lock.
        lock: PathBuf,
        /// Error of the operating system.
        cause: io::Error,
    },
}

impl FileLock {
    /// Takes the lock of `file` with the extension `ending`; waits for up to `patience`. On a file system without locks
    /// nothing is locked.
    pub async fn take(file: &Path, ending: &str, patience: Duration) -> Result<Self, NotTaken> {
        let end = Instant::now() + patience;
        let lock = file.with_added_extension(ending);
        let opened = private().create(true).truncate(false).open(&lock);
        let lock = opened.map_err(|cause| NotTaken::Unusable { lock, cause })?;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(Self(lock)),
                Err(TryLockError::WouldBlock) if Instant::now() < end => sleep(AGAIN).await,
                Err(TryLockError::WouldBlock) => return Err(NotTaken::Taken),
                // A file system without locks.
                Err(TryLockError::Error(_)) => return Ok(Self(lock)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_has_the_file_and_the_next_waits_for_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("store.db");
        let first = FileLock::take(&file, SERVES, Duration::ZERO).await.expect("nobody has it");
        assert!(matches!(FileLock::take(&file, SERVES, Duration::ZERO).await, Err(NotTaken::Taken)));
        assert!(FileLock::take(&file, CARRIES, Duration::ZERO).await.is_ok(), "the locks are two");
        let next =
            tokio::spawn(async move { FileLock::take(&file, SERVES, Duration::from_secs(20)).await.is_ok() });
        sleep(Duration::from_millis(20)).await;
        drop(first);
        assert!(next.await.expect("no panic"));
    }

    #[tokio::test]
    async fn a_lock_that_cannot_be_opened_is_not_that_of_another() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("store.db");
        std::fs::create_dir(file.with_added_extension(SERVES)).expect("a folder in its place");
        let refused = FileLock::take(&file, SERVES, Duration::from_secs(20)).await.expect_err("no lock");
        let NotTaken::Unusable { lock, .. } = refused else { panic!("{refused:?}") };
        assert_eq!(lock, folder.path().join("store.db.lock"));
    }
}

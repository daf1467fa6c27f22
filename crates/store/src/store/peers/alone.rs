//! Locks beside a SQLite file that live as long as the process that took them: one process serves it, and one run
//! carries what it holds elsewhere.
//!
//! Other commands work beside both; they keep nothing in memory. A lock is on a file of its own, because closing
//! SQLite's own files would end the locks that SQLite has on them.
//!
//! May use: nothing of this crate.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// Time from one try to the next.
const AGAIN: Duration = Duration::from_millis(50);

/// The ending of the lock of the process that serves.
pub const SERVES: &str = "lock";
/// The ending of the lock of the run that carries.
pub const CARRIES: &str = "leave-lock";

/// The lock; given up when this is dropped or the process ends.
#[derive(Debug)]
pub struct Alone(#[allow(dead_code)] File);

/// Another process has the lock.
#[derive(Debug)]
pub struct Taken {
    /// The SQLite file.
    pub file: PathBuf,
}

impl Alone {
    /// Takes the lock of `file` that ends in `ending`, waiting for up to `patience`. Where the file system has no locks
    /// nothing is locked.
    ///
    /// # Errors
    /// [`Taken`], also when the file of the lock cannot be opened.
    pub async fn take(file: &Path, ending: &str, patience: Duration) -> Result<Self, Taken> {
        let end = Instant::now() + patience;
        let taken = || Taken { file: file.to_owned() };
        let lock = open(&beside(file, ending)).map_err(|_| taken())?;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(Self(lock)),
                Err(TryLockError::WouldBlock) if Instant::now() < end => sleep(AGAIN).await,
                Err(TryLockError::WouldBlock) => return Err(taken()),
                // A file system without locks.
                Err(TryLockError::Error(_)) => return Ok(Self(lock)),
            }
        }
    }
}

fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

fn open(lock: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(lock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_has_the_file_and_the_next_waits_for_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("store.db");
        let first = Alone::take(&file, SERVES, Duration::ZERO).await.expect("nobody has it");
        assert!(Alone::take(&file, SERVES, Duration::ZERO).await.is_err());
        assert!(Alone::take(&file, CARRIES, Duration::ZERO).await.is_ok(), "the locks are two");
        let next = tokio::spawn(async move { Alone::take(&file, SERVES, Duration::from_secs(20)).await.is_ok() });
        sleep(Duration::from_millis(20)).await;
        drop(first);
        assert!(next.await.expect("no panic"));
    }
}

//! A SQLite file is served by one process: a lock beside it that lives as long as the process.
//!
//! Commands work beside it; they keep nothing in memory. The lock is on a file of its own, because closing SQLite's own
//! files would end the locks that SQLite has on them.
//!
//! May use: nothing of this crate.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// Time from one try to the next.
const AGAIN: Duration = Duration::from_millis(50);

/// The lock; given up when this is dropped or the process ends.
#[derive(Debug)]
pub struct Alone(#[allow(dead_code)] File);

/// Another process serves the file.
#[derive(Debug)]
pub struct AlreadyServed {
    /// The SQLite file.
    pub file: PathBuf,
}

impl Alone {
    /// Takes the lock of `file`, waiting for up to `patience`. Where no file can be made beside it nothing is locked:
    /// then the store can only be read.
    ///
    /// # Errors
    /// [`AlreadyServed`].
    pub async fn take(file: &Path, patience: Duration) -> Result<Self, AlreadyServed> {
        let end = Instant::now() + patience;
        let served = || AlreadyServed { file: file.to_owned() };
        let lock = open(&beside(file)).map_err(|_| served())?;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(Self(lock)),
                Err(TryLockError::WouldBlock) if Instant::now() < end => sleep(AGAIN).await,
                Err(TryLockError::WouldBlock) => return Err(served()),
                // A file system without locks.
                Err(TryLockError::Error(_)) => return Ok(Self(lock)),
            }
        }
    }
}

fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".lock");
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
        let first = Alone::take(&file, Duration::ZERO).await.expect("nobody has it");
        assert!(Alone::take(&file, Duration::ZERO).await.is_err());
        let next = tokio::spawn(async move { Alone::take(&file, Duration::from_secs(20)).await.is_ok() });
        sleep(Duration::from_millis(20)).await;
        drop(first);
        assert!(next.await.expect("no panic"));
    }
}

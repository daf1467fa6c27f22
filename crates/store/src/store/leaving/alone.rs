//! Lock for a run that moves data: two runs at once would create the same records twice at the target. With PostgreSQL
//! it is a lock of a session, with SQLite a lock on a file beside the store; both end with the process.
//!
//! May use: this folder.

use super::super::error::StoreError;
use super::super::kind::Kind;
use super::super::peers::{CARRIES, FileLock, NotTaken};
use super::super::place::file_of;
use super::super::service::Store;
use super::super::snapshots::ClusterLock;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Longest wait for the lock: a server may need a moment to notice that a killed run is gone.
const PATIENCE: Duration = Duration::from_secs(3);
/// Time between two attempts.
const AGAIN: Duration = Duration::from_millis(100);

/// The lock of a run that moves data; released when this is dropped or the process ends.
pub struct LeavingLock {
    _on_server: Option<ClusterLock>,
    _beside_file: Option<FileLock>,
}

impl Store {
    /// Locks this store, whose URL is `url`, for a run that moves data; none while another run has the lock. A
    /// read-only store is not locked: a run fails when it first writes its progress.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not respond, or the lock cannot be opened.
    pub async fn lock_for_leaving(&self, url: &str) -> Result<Option<LeavingLock>, StoreError> {
        if self.engine.kind() == Kind::Postgres {
            let end = Instant::now() + PATIENCE;
            loop {
                let taken = self.try_cluster_lock("causeway leave").await?;
                if taken.is_some() || Instant::now() > end {
                    return Ok(taken.map(|taken| LeavingLock { _on_server: Some(taken), _beside_file: None }));
                }
                sleep(AGAIN).await;
            }
        }
        let beside = match file_of(url).filter(|_| !self.is_read_only()) {
            None => None,
            Some(file) => match FileLock::take(&file, CARRIES, PATIENCE).await {
                Ok(taken) => Some(taken),
                Err(NotTaken::Taken) => return Ok(None),
                Err(NotTaken::Unusable { lock, cause }) => {
                    return Err(StoreError::NoLock { lock, cause: cause.to_string() });
                }
            },
        };
        Ok(Some(LeavingLock { _on_server: None, _beside_file: beside }))
    }
}

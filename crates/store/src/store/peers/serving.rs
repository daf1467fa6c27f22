//! Serving a SQLite file: the process that does has the file's lock, whenever it may write.
//!
//! A gateway takes the lock when it starts. Where the file of the lock cannot be made, because the store can only be
//! read, the gateway goes on without, and takes the lock before the store is written again. May use: `engine`, `error`,
//! this folder.

use super::super::engine::Engine;
use super::super::error::StoreError;
use super::alone::{Alone, NotTaken, SERVES};
use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Whether this process serves the file of its store, shared by all who use it.
#[derive(Debug, Default)]
pub(in crate::store) struct Serving(Mutex<State>);

#[derive(Debug, Default)]
enum State {
    #[default]
    No,
    /// The store can only be read, and the lock could not be opened.
    WithoutLock,
    WithLock(#[allow(dead_code)] Alone),
}

impl Serving {
    /// Gives the lock up.
    pub fn end(&self) {
        *self.0.lock() = State::No;
    }
}

impl Engine {
    /// Serves the file from now on, after waiting for the end of another process that does for `patience`.
    pub(super) async fn serve_file(&self, file: &Path, patience: Duration) -> Result<(), StoreError> {
        // Nobody brings the store back to be written meanwhile.
        let _still = self.writable.regaining.lock().await;
        let state = self.lock_of(file, patience).await?.map_or(State::WithoutLock, State::WithLock);
        *self.serving.0.lock() = state;
        Ok(())
    }

    /// Takes the lock for a gateway that began without it; to be called before the store is written again.
    ///
    /// # Errors
    /// [`StoreError::Served`] when another process has it, [`StoreError::NoLock`] when it cannot be opened.
    pub(in crate::store) async fn lock_to_write(&self) -> Result<(), StoreError> {
        if !matches!(*self.serving.0.lock(), State::WithoutLock) {
            return Ok(());
        }
        let Some(file) = self.file_that_is_shared() else { return Ok(()) };
        let alone = taken(&file, Duration::ZERO).await?;
        let mut state = self.serving.0.lock();
        if matches!(*state, State::WithoutLock) {
            *state = State::WithLock(alone);
        }
        Ok(())
    }

    /// The lock of the file; none when it cannot be opened and the store can only be read.
    pub(super) async fn lock_of(&self, file: &Path, patience: Duration) -> Result<Option<Alone>, StoreError> {
        match taken(file, patience).await {
            Err(StoreError::NoLock { .. }) if self.is_read_only() => Ok(None),
            outcome => outcome.map(Some),
        }
    }
}

async fn taken(file: &Path, patience: Duration) -> Result<Alone, StoreError> {
    Alone::take(file, SERVES, patience).await.map_err(|fault| match fault {
        NotTaken::Taken => StoreError::Served { file: PathBuf::from(file) },
        NotTaken::Unusable { lock, cause } => StoreError::NoLock { lock, cause: cause.to_string() },
    })
}

//! A copy of a SQLite store in a file.
//!
//! May use: this folder.

use super::error::StoreError;
use super::place::{folder_of, private};
use super::rows::query;
use super::service::Store;
use super::unfinished::Unfinished;
use std::io::ErrorKind;
use std::path::Path;

impl Store {
    /// Copies a SQLite store to a new file while the store is in use. Only the file's owner can read it.
    ///
    /// # Errors
    /// [`StoreError::Occupied`] when the file exists, [`StoreError::NoCopy`] when it cannot be written.
    pub async fn copy_to(&self, file: &Path) -> Result<(), StoreError> {
        let no_copy = |cause: String| StoreError::NoCopy { file: file.display().to_string(), cause };
        let fault = |cause: std::io::Error| no_copy(cause.to_string());
        private().create_new(true).open(file).map_err(|cause| match cause.kind() {
            ErrorKind::AlreadyExists => StoreError::Occupied(file.display().to_string()),
            _ => fault(cause),
        })?;
        let unfinished = Unfinished::copy(file);
        query("VACUUM INTO $1", &[&file.display().to_string()])
            .execute(self.engine.pool())
            .await
            .map_err(|cause| match StoreError::from(cause) {
                StoreError::Unavailable(cause) => no_copy(cause),
                other => other,
            })
            .and_then(|_| make_lasting(file).map_err(fault))?;
        unfinished.complete();
        Ok(())
    }
}

/// Flushes the file and its directory entry to the disk.
pub fn make_lasting(file: &Path) -> std::io::Result<()> {
    std::fs::OpenOptions::new().write(true).open(file)?.sync_all()?;
    std::fs::File::open(folder_of(file))?.sync_all()
}

//! Whether the file of a SQLite store is still where it was opened.
//!
//! A file that was removed, renamed or replaced goes on for those who have it open, and what is written to it then is
//! lost with them. May use: `error`, `place`.

use super::error::StoreError;
use super::place::file_of;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

/// Where a file was when it was opened, and which one it was; none for a store without a file.
#[derive(Debug, Clone)]
pub(super) struct InPlace(Option<(Arc<Path>, FileId)>);

/// Device and number of a file.
type FileId = (u64, u64);

impl InPlace {
    /// The file of the store at `url`, which is open now.
    pub(super) fn of(url: &str) -> Self {
        Self(file_of(url).and_then(|file| Some((file.into(), file_id(file)?))))
    }

    /// Makes sure that it is still there; a look at a file takes about a microsecond.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when it is not, or when another one is in its place.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let Some((file, opened)) = &self.0 else { return Ok(()) };
        if file_id(file) == Some(*opened) {
            return Ok(());
        }
        let file = file.display();
        Err(StoreError::Unavailable(format!(
            "{file} was removed or replaced while the gateway has it open; put it back, or restart the gateway"
        )))
    }
}

fn file_id(file: &Path) -> Option<FileId> {
    std::fs::metadata(file).ok().map(|file| (file.dev(), file.ino()))
}

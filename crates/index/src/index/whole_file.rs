//! A file that is either complete or absent.
//!
//! It is written beside its place and then moved there. A file that is damaged, of another kind or of another list is
//! removed with a line in the log. May use: this folder.

use super::file_form::{decode, encode};
use super::private::{private_folder, write_private};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use uuid::Uuid;

/// Ending of a file that is being written.
const UNFINISHED: &str = "part";
/// Longest time that a process writes a file.
const AT_WORK: Duration = Duration::from_secs(3600);

/// Returns the name of the file for the list that `identity` names, without its ending.
pub(super) fn file_name(identity: &str) -> String {
    hex::encode(&Sha256::digest(identity.as_bytes())[..16])
}

/// The path of such a file, and the identity and kind that its content must have.
#[derive(Debug, Clone)]
pub(super) struct WholeFile {
    path: PathBuf,
    mark: &'static [u8; 8],
    identity: String,
}

impl WholeFile {
    /// Returns the file in `directory` for the list that `identity` names, of the kind and version of `mark`.
    pub fn of(directory: &Path, identity: String, ending: &str, mark: &'static [u8; 8]) -> Self {
        Self { path: directory.join(format!("{}.{ending}", file_name(&identity))), mark, identity }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks whether the file exists, with any content.
    pub fn exists(&self) -> bool {
        self.path.is_file()
    }

    /// Reads the content; none when the file is missing, damaged or of another list.
    pub fn load<T: DeserializeOwned>(&self) -> Option<T> {
        self.remove_unfinished();
        let bytes = match std::fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return None,
            Err(cause) => return self.put_aside(&cause.to_string()),
        };
        decode(self.mark, &self.identity, &bytes).map_or_else(|fault| self.put_aside(fault), Some)
    }

    fn put_aside<T>(&self, fault: &str) -> Option<T> {
        tracing::warn!(file = %self.path.display(), fault, "a kept index cannot be used; it is built anew");
        self.remove();
        None
    }

    /// Writes the file.
    ///
    /// # Errors
    /// An error of the disk. The old file still exists then.
    pub fn save(&self, content: &impl Serialize) -> io::Result<()> {
        self.replace(&encode(self.mark, &self.identity, content)?)
    }

    fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        if let Some(directory) = self.path.parent() {
            private_folder(directory)?;
        }
        let beside = self.path.with_extension(format!("{}.{UNFINISHED}", Uuid::new_v4().simple()));
        let written = write_private(&beside, bytes).and_then(|()| std::fs::rename(&beside, &self.path));
        if written.is_err() {
            let _ = std::fs::remove_file(&beside);
        }
        written
    }

    /// Removes what earlier processes have left unfinished beside the file. Another process may be writing a new one.
    fn remove_unfinished(&self) {
        let (Some(folder), Some(name)) = (self.path.parent(), self.path.file_stem()) else { return };
        for found in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let of_this = found.file_name().to_string_lossy().starts_with(&*name.to_string_lossy());
            let is_unfinished = found.path().extension().is_some_and(|ending| ending == UNFINISHED);
            let changed = found.metadata().and_then(|file| file.modified()).ok();
            let is_left = changed.and_then(|at| at.elapsed().ok()).is_some_and(|age| age > AT_WORK);
            if of_this && is_unfinished && is_left {
                let _ = std::fs::remove_file(found.path());
            }
        }
    }

    /// Removes the file, if it exists.
    pub fn remove(&self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

//! The files of stores, of their copies and of exports. May use: what `cli` may use.

use super::arguments::Outcome;
use crate::store::file_of;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

/// A new file for its owner's eyes only.
pub(super) fn create(file: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)
}

/// A mistyped path must not make an empty store that then looks sound.
pub(super) fn expect_there(url: &str) -> Outcome {
    match absent(url) {
        Some(file) => Err(format!("there is no store at {}; see --store", file.display())),
        None => Ok(()),
    }
}

/// The file of the store at `url`, when there is none yet.
pub(super) fn absent(url: &str) -> Option<PathBuf> {
    file_of(url).filter(|file| !file.exists())
}

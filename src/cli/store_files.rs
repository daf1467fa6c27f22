//! The files of stores, of their copies and of exports. May use: what `cli` may use.

use super::arguments::Outcome;
use crate::store::{Store, file_of};
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

/// Opens the store at `url`, which has to be there, works with it and closes it.
pub(super) async fn with_store<T>(
    url: &str,
    work: impl AsyncFnOnce(&Store) -> Result<T, String>,
) -> Result<T, String> {
    expect_there(url)?;
    with_any_store(url, work).await
}

/// The same for one that is made when it is not there.
pub(super) async fn with_any_store<T>(
    url: &str,
    work: impl AsyncFnOnce(&Store) -> Result<T, String>,
) -> Result<T, String> {
    let store = Store::open_for_upkeep(url).await?;
    let outcome = work(&store).await;
    store.close().await;
    outcome
}

/// The file of the store at `url`, when there is none yet.
pub(super) fn absent(url: &str) -> Option<PathBuf> {
    file_of(url).filter(|file| !file.exists())
}

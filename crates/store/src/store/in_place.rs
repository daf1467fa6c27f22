//! Checks whether the file of a store is still where it was opened.
//!
//! A removed, renamed or replaced file stays usable for processes that have it open, but data written to it is lost
//! when they end; later connections open another file. So the store cannot be used from then on until the program is
//! restarted, even if the file is put back. May use: `store::place`.

use super::place::named_in;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Path and identity of a file when it was opened; none for a store without a file.
#[derive(Debug, Clone)]
pub(super) struct InPlace(Option<Arc<Opened>>);

impl InPlace {
    /// Records the file of the store at `url`, which is open now. Where the URL names a symbolic link, the link must
    /// also go on to lead to this file.
    pub(super) fn of(url: &str) -> Self {
        let opened =
            |file: PathBuf| Some(Opened { id: file_id(&file)?, file: file.into(), is_lost: AtomicBool::default() });
        Self(named_in(url).and_then(opened).map(Arc::new))
    }

    /// Checks whether the file has been there all the time. A look at a file takes about a microsecond.
    pub(super) fn is_kept(&self) -> bool {
        let Some(opened) = &self.0 else { return true };
        if opened.is_lost.load(Ordering::Relaxed) {
            return false;
        }
        let is_there = file_id(&opened.file) == Some(opened.id);
        if !is_there && !opened.is_lost.swap(true, Ordering::Relaxed) {
            tracing::error!(
                file = %opened.file.display(),
                "the file of the store was removed or replaced while it was open; the store cannot be used until \
                 the file is put back and the gateway is restarted"
            );
        }
        is_there
    }
}

#[derive(Debug)]
struct Opened {
    file: Box<Path>,
    id: FileId,
    /// Whether the file was once found missing or replaced.
    is_lost: AtomicBool,
}

/// Device and inode number of a file.
type FileId = (u64, u64);

fn file_id(file: &Path) -> Option<FileId> {
    std::fs::metadata(file).ok().map(|file| (file.dev(), file.ino()))
}

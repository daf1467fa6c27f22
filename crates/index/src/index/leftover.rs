//! The pages of a build that has not ended yet: kept, so that it is gone on with after a restart or a failure.
//!
//! On disk one file beside that of the index, for the same list. It is written while the build goes on and removed when
//! it has ended. It does not have to know whether its rows are still true: the proof of the build (`walk`) covers the
//! time in which nobody read. A file that is damaged, of another list or makes no sense is ignored, and so is an old
//! one, because too much may have changed.
//!
//! May use: `v2`, this folder.

use super::walk::Walk;
use super::whole_file::WholeFile;
use crate::v2::time::Micros;
use std::path::Path;

/// Kind and version of the file; to be raised when the form of a row or of the trail changes.
const MARK: &[u8; 8] = b"CWPAGES2";
/// Age from which on the pages of a build are not gone on with.
const TOO_OLD: Micros = 3_600_000_000;

/// The place of such pages on disk.
#[derive(Debug, Clone)]
pub(super) struct Leftover(WholeFile);

impl Leftover {
    /// The file in `directory` for the list that `identity` names.
    pub fn of(directory: &Path, identity: String) -> Self {
        Self(WholeFile::of(directory, identity, "pages", MARK))
    }

    /// Where the file is.
    #[cfg(test)]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The pages, if there are any that a build can go on with.
    pub fn load(&self, size: usize, now: Micros) -> Option<Walk> {
        let (trail, rows) = self.0.load()?;
        let walk = Walk { rows, trail };
        can_go_on(&walk, size, now).then_some(walk)
    }

    /// Writes the pages; a failure is logged, for nothing but time depends on the file.
    pub fn save(&self, walk: &Walk) {
        if let Err(cause) = self.0.save(&(&walk.trail, &walk.rows)) {
            tracing::warn!(file = %self.0.path().display(), %cause, "the pages of a build could not be kept");
        }
    }

    /// The build has ended.
    pub fn remove(&self) {
        self.0.remove();
    }
}

/// Whether a build with pages of `size` can go on with `walk` at `now`.
pub(super) fn can_go_on(walk: &Walk, size: usize, now: Micros) -> bool {
    walk.trail.can_go_on(size, walk.rows.len()) && now.saturating_sub(walk.trail.since) < TOO_OLD
}
